use serde::Deserialize;
use url::Url;

use crate::view::sanitize_text;

const MAX_LINKS: usize = 10;
const MAX_LABEL_CHARACTERS: usize = 40;
const MAX_URL_BYTES: usize = 500;

/// A link of the operator at the end of every page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FooterLink {
    pub label: String,
    /// An `https://` URL, or a path of this explorer.
    pub url: String,
}

/// Links that were checked.
#[derive(Debug, Clone, Default)]
pub struct FooterLinks(Vec<FooterLink>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFooterLink {
    #[error("{count} links are too many: give at most {MAX_LINKS}")]
    TooMany { count: usize },
    #[error("the label `{label}` must have 1 to {MAX_LABEL_CHARACTERS} visible characters")]
    Label { label: String },
    #[error(
        "the url `{url}` of `{label}` must be an https:// URL without a password, or a path of this explorer such as /docs, of at most \
         {MAX_URL_BYTES} characters"
    )]
    Url { label: String, url: String },
}

impl FooterLink {
    pub(crate) fn is_external(&self) -> bool {
        !self.url.starts_with('/')
    }

    fn checked(&self) -> Result<Self, InvalidFooterLink> {
        let label = self.label.trim();
        let is_label =
            !label.is_empty() && sanitize_text(label, MAX_LABEL_CHARACTERS) == label && !label.contains('\n');
        if !is_label {
            return Err(InvalidFooterLink::Label { label: sanitize_text(label, MAX_LABEL_CHARACTERS) });
        }
        let url = path(&self.url).or_else(|| https(&self.url)).filter(|_| self.url.len() <= MAX_URL_BYTES);
        let url = url.ok_or_else(|| InvalidFooterLink::Url {
            label: label.to_owned(),
            url: sanitize_text(&self.url, MAX_URL_BYTES),
        })?;
        Ok(Self { label: label.to_owned(), url })
    }
}

/// A path from the root; browsers read `//` and `/\` as the start of a host name.
fn path(text: &str) -> Option<String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"<>".contains(&byte));
    (text.starts_with('/') && !text.starts_with("//") && is_plain).then(|| text.to_owned())
}

fn https(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    (url.scheme() == "https" && url.has_host() && !has_credentials).then(|| url.into())
}

impl FooterLinks {
    /// # Errors
    /// If there are too many links, or one of them is invalid.
    pub fn new(links: &[FooterLink]) -> Result<Self, InvalidFooterLink> {
        if links.len() > MAX_LINKS {
            return Err(InvalidFooterLink::TooMany { count: links.len() });
        }
        links.iter().map(FooterLink::checked).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn as_slice(&self) -> &[FooterLink] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(label: &str, url: &str) -> FooterLink {
        FooterLink { label: label.to_owned(), url: url.to_owned() }
    }

    #[test]
    fn a_link_leads_to_a_path_or_to_a_secure_host() {
        for (url, shown, is_external) in [
            ("/docs", "/docs", false),
            ("/tokens?page=2#list", "/tokens?page=2#list", false),
            ("https://example.org", "https://example.org/", true),
            ("https://example.org/a b?q=\"x\"", "https://example.org/a%20b?q=%22x%22", true),
        ] {
            let links = FooterLinks::new(&[link(" Terms ", url)]).unwrap();
            let [found] = links.as_slice() else { panic!("{links:?}") };
            assert_eq!((found.label.as_str(), found.url.as_str(), found.is_external()), ("Terms", shown, is_external));
        }
    }

    #[test]
    fn other_urls_are_refused() {
        let long = format!("https://example.org/{}", "a".repeat(500));
        for url in [
            "",
            "docs",
            "//example.org",
            "/\\example.org",
            "http://example.org",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://user:secret@example.org",
            "/\"><script>",
            "/a b",
            &long,
        ] {
            let error = FooterLinks::new(&[link("Terms", url)]).unwrap_err();
            assert!(matches!(error, InvalidFooterLink::Url { .. }), "{url}");
        }
    }

    #[test]
    fn labels_are_visible_and_short() {
        for label in ["", "  ", "a\u{202e}b", "a\nb", &"a".repeat(41)] {
            let error = FooterLinks::new(&[link(label, "/docs")]).unwrap_err();
            assert!(matches!(error, InvalidFooterLink::Label { .. }), "{label}");
        }
        let many: Vec<_> = (0..11).map(|_| link("Terms", "/docs")).collect();
        assert_eq!(FooterLinks::new(&many).unwrap_err(), InvalidFooterLink::TooMany { count: 11 });
        assert_eq!(FooterLinks::new(&many[..10]).unwrap().as_slice().len(), 10);
    }
}
