use std::{fmt, str::FromStr};

/// An opaque colour in sRGB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour([u8; 3]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a colour such as #0b6b63: # and 3 or 6 hexadecimal digits")]
pub struct InvalidColour {
    text: String,
}

impl FromStr for Colour {
    type Err = InvalidColour;

    fn from_str(text: &str) -> Result<Self, InvalidColour> {
        let invalid = || InvalidColour { text: text.chars().take(20).collect() };
        let digits = text.strip_prefix('#').unwrap_or_default().chars().map(|digit| digit.to_digit(16));
        let digits: Vec<u32> = digits.collect::<Option<_>>().ok_or_else(invalid)?;
        let channel = |high: u32, low: u32| u8::try_from(high * 16 + low).map_err(|_| invalid());
        match *digits.as_slice() {
            [r, g, b] => Ok(Self([channel(r, r)?, channel(g, g)?, channel(b, b)?])),
            [r, red, g, green, b, blue] => Ok(Self([channel(r, red)?, channel(g, green)?, channel(b, blue)?])),
            _ => Err(invalid()),
        }
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([red, green, blue]) = self;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Colour {
    pub(super) const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self([red, green, blue])
    }

    /// The contrast ratio of WCAG, from 1 to 21.
    pub(super) fn contrast(self, other: Self) -> f64 {
        let (own, other) = (self.luminance(), other.luminance());
        (own.max(other) + 0.05) / (own.min(other) + 0.05)
    }

    /// The relative luminance of WCAG, from 0 to 1.
    fn luminance(self) -> f64 {
        let linear = self.0.map(|channel| {
            let channel = f64::from(channel) / 255.0;
            if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        });
        let [red, green, blue] = linear;
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// This colour with so many per cent of another one, as `color-mix(in srgb, ...)` does it.
    pub(super) fn mixed_with(self, other: Self, percent: u8) -> Self {
        let percent = u32::from(percent.min(100));
        let mixed = |own: u8, other: u8| {
            let sum = u32::from(own) * (100 - percent) + u32::from(other) * percent;
            u8::try_from((sum + 50) / 100).unwrap_or(u8::MAX)
        };
        let (Self([r, g, b]), Self([red, green, blue])) = (self, other);
        Self([mixed(r, red), mixed(g, green), mixed(b, blue)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(text: &str) -> Colour {
        text.parse().unwrap()
    }

    #[test]
    fn a_colour_has_three_or_six_digits() {
        assert_eq!(colour("#0b6B63"), Colour::new(0x0b, 0x6b, 0x63));
        assert_eq!(colour("#fA0").to_string(), "#ffaa00");
        for invalid in ["", "#", "0b6b63", "#0b6b6", "#0b6b63ff", "#ggg", "red", "#é23", "#12;}", "rgb(1,2,3)"] {
            let error = invalid.parse::<Colour>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{invalid}` is not a colour")), "{error}");
        }
    }

    #[test]
    fn contrast_is_that_of_the_guideline() {
        let (black, white) = (colour("#000"), colour("#fff"));
        assert!((black.contrast(white) - 21.0).abs() < 1e-9);
        assert!((white.contrast(white) - 1.0).abs() < 1e-9);
        // The lightest grey with 4.5:1 on white.
        assert!(colour("#767676").contrast(white) >= 4.5 && colour("#777777").contrast(white) < 4.5);
        assert_eq!(black.contrast(colour("#0b6b63")), colour("#0b6b63").contrast(black));
    }

    #[test]
    fn a_mix_is_between_both_colours() {
        assert_eq!(colour("#fff").mixed_with(colour("#000"), 50), colour("#808080"));
        assert_eq!(colour("#123456").mixed_with(colour("#fff"), 0), colour("#123456"));
        assert_eq!(colour("#123456").mixed_with(colour("#fff"), 100), colour("#fff"));
    }
}
