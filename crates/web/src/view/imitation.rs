//! The warning on the page of a token that imitates another one.

use askama::{Template, filters::HtmlSafe};
use enrichment::{Imitated, Likeness};

use super::{amount::counted, links::imitated_name, text::sanitize_name};

/// Says what a token imitates, with a link to it.
#[derive(Debug, Clone, Template)]
#[template(
    source = r##"<div class="banner warning" role="note" aria-label="Warning"><p><svg class="i" aria-hidden="true"><use href="#i-warn"/></svg><strong>This may be an imitation.</strong> {{ what }} <a href="/token/{{ address }}"><bdi>{{ name }}</bdi></a>, which has {{ holders }}; this one has {{ own_holders }}.</p><p>Anyone can give a token any name: compare its address with the one that the project itself publishes.</p></div>"##,
    ext = "html"
)]
pub(crate) struct ImitationBanner {
    what: String,
    address: String,
    name: String,
    holders: String,
    own_holders: String,
}

impl HtmlSafe for ImitationBanner {}

impl ImitationBanner {
    /// `own` is the symbol and the name of the token that imitates.
    pub(crate) fn new(original: &Imitated, own: (&str, &str), own_holders: u64) -> Self {
        let (part, own, other) = match original.likeness {
            Likeness::Symbol => ("symbol", own.0, &original.symbol),
            Likeness::Name => ("name", own.1, &original.name),
        };
        let is_same = sanitize_name(own).to_lowercase() == sanitize_name(other).to_lowercase();
        Self {
            what: match is_same {
                true => format!("It has the same {part} as the older or better known token"),
                false => format!("Its {part} looks like that of the older or better known token"),
            },
            address: original.address.to_checksum(None),
            name: imitated_name(original),
            holders: counted(original.holders, "holder"),
            own_holders: own_holders.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Address;

    use super::*;

    #[test]
    fn a_warning_names_the_original_and_links_to_it() {
        let original = Imitated {
            address: Address::repeat_byte(0xab),
            symbol: "USDC".to_owned(),
            name: "USD Coin".to_owned(),
            holders: 5_120,
            likeness: Likeness::Symbol,
        };
        let same = ImitationBanner::new(&original, ("usdc", "x"), 3).render().unwrap();
        let link = format!("<a href=\"/token/{}\"><bdi>USDC 0x", original.address.to_checksum(None));
        assert!(same.contains(&link) && same.contains("the same symbol") && same.contains("5,120 holders"), "{same}");
        let alike = ImitationBanner::new(&original, ("USD\u{421}", "x"), 3).render().unwrap();
        assert!(alike.contains("symbol looks like"), "{alike}");
    }
}
