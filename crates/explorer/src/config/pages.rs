//! The pages: where they are found, and how they look.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use domain::TokenPrefix;
use serde::Deserialize;
use web::{Accent, Branding, Colour, FooterLink, FooterLinks, Logo, LogoError, PublicUrl, TourStop};

use super::{
    options::{OptionValue, options},
    values::parsed,
};

pub(crate) const DEFAULT_COIN: &str = "ETH";
const DEFAULT_CHAIN_NAME: &str = "Explorer";

options! {
    /// Where the pages are found, and how they look.
    pub(crate) struct PageOptions {
        /// Prefix of token types, as in BEP20 or ERC20 [default: BEP; on pages ERC, except on BNB Smart Chain (chain ids 56 and 97)]
        #[arg(long, env = "EXPLORER_TOKEN_PREFIX", value_name = "BEP|ERC", hide_short_help = true)]
        #[file(parsed)]
        pub(crate) token_prefix: Option<TokenPrefix>,

        /// Where users find the pages, such as https://explorer.example or, below a path, https://example.org/explorer
        ///
        /// For canonical URLs, previews of links and a sitemap. With a path, the API and the pages are served below it, with or without a
        /// proxy that removes it.
        #[arg(long, env = "EXPLORER_PUBLIC_URL", value_name = "URL")]
        #[file(parsed)]
        pub(crate) public_url: Option<PublicUrl>,
    }
    only in the file {
        /// Names, logo, colours and links of the pages.
        pub(crate) looks: Looks,
    }
}

/// The table `[looks]` of the file: names, logo, colours and links of the pages.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Looks {
    pub(crate) chain_name: Option<String>,
    /// The symbol of the native coin.
    pub(crate) coin: Option<String>,
    /// An SVG, PNG or WebP file of at most 256 KB, also the icon of the site.
    pub(crate) logo: Option<PathBuf>,
    /// Links and buttons on a light background.
    #[serde(deserialize_with = "parsed")]
    pub(crate) accent_light: Option<Colour>,
    /// And on a dark one.
    #[serde(deserialize_with = "parsed")]
    pub(crate) accent_dark: Option<Colour>,
    /// At the end of every page.
    pub(crate) footer_link: Vec<FooterLink>,
}

impl OptionValue for Looks {
    /// Only the file has them.
    fn or_value(self, file: Self) -> Self {
        file
    }
}

/// The pages: where they are found, and how they look.
#[derive(Debug)]
pub(crate) struct PagesConfig {
    /// None: BEP, and on pages that of the chain.
    pub(crate) token_prefix: Option<TokenPrefix>,
    /// Where users and search engines find the pages, possibly below a path.
    pub(crate) public_url: Option<PublicUrl>,
    /// Name of the chain on the pages.
    pub(crate) chain_name: String,
    /// The symbol of the native coin.
    pub(crate) coin: String,
    pub(crate) branding: Branding,
    /// Links of the first page to what a newcomer may want to see.
    pub(crate) tour: Vec<TourStop>,
}

impl PageOptions {
    pub(super) fn config(self) -> anyhow::Result<PagesConfig> {
        let Self { token_prefix, public_url, looks } = self;
        Ok(PagesConfig {
            token_prefix,
            public_url,
            branding: branding(&looks)?,
            chain_name: looks.chain_name.unwrap_or_else(|| DEFAULT_CHAIN_NAME.to_owned()),
            coin: looks.coin.unwrap_or_else(|| DEFAULT_COIN.to_owned()),
            tour: Vec::new(),
        })
    }
}

fn branding(looks: &Looks) -> anyhow::Result<Branding> {
    let logo = looks.logo.as_deref().map(read_logo).transpose()?;
    let accent = Accent { light: looks.accent_light, dark: looks.accent_dark };
    let links = FooterLinks::new(&looks.footer_link);
    let links = links.context("invalid [[looks.footer-link]] entries in the configuration file")?;
    Ok(Branding::new(logo, accent, links)?)
}

fn read_logo(path: &Path) -> anyhow::Result<Logo> {
    let invalid = || format!("the logo {} cannot be used", path.display());
    let length = std::fs::metadata(path).with_context(|| format!("cannot read the logo {}", path.display()))?.len();
    ensure!(length <= Logo::MAX_BYTES as u64, "{}: {}", invalid(), LogoError::TooLarge { bytes: length });
    let bytes = std::fs::read(path).with_context(|| format!("cannot read the logo {}", path.display()))?;
    Logo::new(bytes).with_context(invalid)
}
