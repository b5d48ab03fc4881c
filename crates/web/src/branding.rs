//! The operator's look of the pages: a logo, accent colours, and links in the footer. All of it is checked at the start, and
//! served as files of this origin, so that the content security policy stays as it is.

mod colour;
mod footer;
mod logo;

use std::sync::Arc;

pub use colour::{Colour, InvalidColour};
pub use footer::{FooterLink, FooterLinks, InvalidFooterLink};
pub use logo::{Logo, LogoError};

use crate::assets::Asset;

/// WCAG 2.2, level AA, for text.
const MIN_CONTRAST: f64 = 4.5;
/// How much of the accent colour is in the background of a selected entry.
const SOFT_PERCENT: u8 = 12;

/// The colours of links and buttons; None for the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Accent {
    pub light: Option<Colour>,
    pub dark: Option<Colour>,
}

/// An accent colour that is hard to read.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "the colour {accent} of accent-{scheme} in [looks] has a contrast of {ratio}:1 to the background {background}, and text needs at least \
     {MIN_CONTRAST}:1: choose a {better} colour"
)]
pub struct LowContrast {
    accent: Colour,
    background: Colour,
    scheme: &'static str,
    /// With two decimals, rounded down.
    ratio: f64,
    better: &'static str,
}

/// The colours of `style.css` that the accent colour depends on.
struct Scheme {
    name: &'static str,
    better: &'static str,
    ground: Colour,
    panel: Colour,
    accent: Colour,
    accent_soft: Colour,
}

const LIGHT: Scheme = Scheme {
    name: "light",
    better: "darker",
    ground: Colour::new(0xf6, 0xf7, 0xf5),
    panel: Colour::new(0xff, 0xff, 0xff),
    accent: Colour::new(0x0b, 0x6b, 0x63),
    accent_soft: Colour::new(0xe3, 0xf1, 0xef),
};
const DARK: Scheme = Scheme {
    name: "dark",
    better: "lighter",
    ground: Colour::new(0x11, 0x14, 0x16),
    panel: Colour::new(0x19, 0x1d, 0x20),
    accent: Colour::new(0x5f, 0xd0, 0xc3),
    accent_soft: Colour::new(0x18, 0x30, 0x2e),
};

impl Scheme {
    /// The accent colour and its soft variant, which is a background of text in the accent colour.
    fn accents(&self, given: Option<Colour>) -> Result<(Colour, Colour), LowContrast> {
        let Some(accent) = given else { return Ok((self.accent, self.accent_soft)) };
        let soft = self.panel.mixed_with(accent, SOFT_PERCENT);
        for background in [self.ground, self.panel, soft] {
            let contrast = accent.contrast(background);
            if contrast < MIN_CONTRAST {
                let ratio = (contrast * 100.0).floor() / 100.0;
                return Err(LowContrast { accent, background, scheme: self.name, ratio, better: self.better });
            }
        }
        Ok((accent, soft))
    }
}

/// The look of the pages.
#[derive(Debug, Clone, Default)]
pub struct Branding {
    logo: Option<Arc<Logo>>,
    /// Replaces colours of `style.css`.
    style: Option<Arc<Asset>>,
    links: FooterLinks,
}

impl Branding {
    /// # Errors
    /// If text in an accent colour is hard to read.
    pub fn new(logo: Option<Logo>, accent: Accent, links: FooterLinks) -> Result<Self, LowContrast> {
        let style = match accent {
            Accent { light: None, dark: None } => None,
            Accent { light, dark } => {
                let ((light, light_soft), (dark, dark_soft)) = (LIGHT.accents(light)?, DARK.accents(dark)?);
                let css = format!(
                    ":root {{\n  --accent: light-dark({light}, {dark});\n  \
                     --accent-soft: light-dark({light_soft}, {dark_soft});\n}}\n"
                );
                Some(Arc::new(Asset::style("branding", css)))
            }
        };
        Ok(Self { logo: logo.map(Arc::new), style, links })
    }

    pub(crate) fn logo(&self) -> Option<&Logo> {
        self.logo.as_deref()
    }

    pub(crate) fn style(&self) -> Option<&Asset> {
        self.style.as_deref()
    }

    pub(crate) fn links(&self) -> &[FooterLink] {
        self.links.as_slice()
    }

    pub(crate) fn assets(&self) -> impl Iterator<Item = &Asset> {
        self.style().into_iter().chain(self.logo().map(Logo::asset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branding(light: Option<&str>, dark: Option<&str>) -> Result<Branding, LowContrast> {
        let parse = |text: &str| text.parse().unwrap();
        Branding::new(None, Accent { light: light.map(parse), dark: dark.map(parse) }, FooterLinks::default())
    }

    #[test]
    fn the_colours_are_those_of_the_style_sheet() {
        let style = include_str!("../assets/style.css");
        for (name, light, dark) in [
            ("ground", LIGHT.ground, DARK.ground),
            ("panel", LIGHT.panel, DARK.panel),
            ("accent", LIGHT.accent, DARK.accent),
            ("accent-soft", LIGHT.accent_soft, DARK.accent_soft),
        ] {
            let line = format!("  --{name}: light-dark({light}, {dark});\n");
            assert!(style.contains(&line), "{line}");
        }
    }

    #[test]
    fn the_default_colours_are_readable() {
        for scheme in [LIGHT, DARK] {
            let (accent, soft) = scheme.accents(Some(scheme.accent)).unwrap();
            assert!(accent.contrast(scheme.accent_soft) >= MIN_CONTRAST && accent.contrast(soft) >= MIN_CONTRAST);
        }
    }

    #[test]
    fn a_style_sheet_has_both_schemes() {
        assert!(branding(None, None).unwrap().style().is_none());
        let changed = branding(Some("#8a1c7c"), None).unwrap();
        let style = changed.style().unwrap();
        let css = std::str::from_utf8(style.content()).unwrap();
        assert!(css.contains("--accent: light-dark(#8a1c7c, #5fd0c3);"), "{css}");
        assert!(css.contains("--accent-soft: light-dark(#f1e4ef, #18302e);"), "{css}");
        assert_ne!(style.path, branding(None, Some("#f0b90b")).unwrap().style().unwrap().path);
    }

    #[test]
    fn a_colour_that_is_hard_to_read_is_refused_with_its_contrast() {
        let error = branding(Some("#f0b90b"), None).unwrap_err().to_string();
        let expected = "the colour #f0b90b of accent-light in [looks] has a contrast of 1.67:1 to the background #f6f7f5, and text \
                        needs at least 4.5:1: choose a darker colour";
        assert_eq!(error, expected);
        let error = branding(None, Some("#333")).unwrap_err().to_string();
        assert!(
            error.starts_with("the colour #333333 of accent-dark in [looks]") && error.ends_with("a lighter colour"),
            "{error}"
        );
    }

    #[test]
    fn the_background_of_a_selected_entry_counts_too() {
        let error = branding(Some("#707078"), None).unwrap_err();
        assert!(error.accent.contrast(LIGHT.ground) >= MIN_CONTRAST);
        assert_eq!((error.background.to_string().as_str(), error.ratio), ("#eeeeef", 4.23));
    }
}
