//! `--bootstrap`: where the snapshot is with which an empty data folder begins.

use std::{fmt, path::PathBuf};

use anyhow::{Context, bail, ensure};
use reqwest::Url;

use super::location::Location;

/// Begins the digest at the end of a source.
const DIGEST: &str = "#sha256=";

/// A snapshot to begin with.
#[derive(Debug, Clone)]
pub(crate) struct Bootstrap {
    pub(crate) source: Source,
    /// Of the file, in lower case.
    pub(crate) sha256: Option<String>,
}

#[derive(Clone)]
pub(crate) enum Source {
    Url(Url),
    File(PathBuf),
}

/// Without what may be secret in a URL.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => write!(f, "{}://{}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path()),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Bootstrap {
    pub(super) fn from_option(given: Option<&str>, location: &Location) -> anyhow::Result<Option<Self>> {
        match (given, location) {
            (Some(_), Location::Database { .. }) => {
                bail!("--bootstrap fills a data folder: leave it or --database out")
            }
            (Some(given), Location::Folder(_)) => Self::new(given).map(Some),
            (None, _) => Ok(None),
        }
    }

    /// From a URL or a path, possibly with the digest of the file.
    fn new(given: &str) -> anyhow::Result<Self> {
        let (source, sha256) = match given.rsplit_once(DIGEST) {
            Some((source, digest)) => (source, Some(digest.to_ascii_lowercase())),
            None => (given, None),
        };
        if let Some(digest) = &sha256 {
            let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
            ensure!(is_digest, "{DIGEST} of --bootstrap needs 64 hexadecimal digits, as `sha256sum FILE` prints them");
        }
        let source = if source.starts_with("http://") || source.starts_with("https://") {
            let url: Url = source.parse().context("invalid --bootstrap: give a URL or a file")?;
            ensure!(
                is_allowed(&url, sha256.is_some()),
                "anybody on the way can change what comes over http: give an https URL with --bootstrap, or the digest of the \
                 file at the end of the URL, as {DIGEST}HEX"
            );
            Source::Url(url)
        } else {
            Source::File(source.into())
        };
        Ok(Self { source, sha256 })
    }
}

/// What cannot be changed on its way, or is compared with a digest.
pub(crate) fn is_allowed(url: &Url, has_digest: bool) -> bool {
    let is_loopback = match url.host_str() {
        Some("localhost") => true,
        Some(host) => host.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && (is_loopback || has_digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_needs_a_digest_unless_the_host_is_this_one() {
        let digest = format!("#sha256={}", "AB".repeat(32));
        assert!(Bootstrap::new("https://example.com/a.tar").is_ok());
        for local in ["http://127.0.0.1:8000/a.tar", "http://localhost/a.tar", "http://[::1]:1/a.tar"] {
            assert!(Bootstrap::new(local).is_ok(), "{local}");
        }
        for other in ["http://example.com/a.tar", "http://localhost.example.com/a", "http://10.0.0.1/a"] {
            assert!(Bootstrap::new(other).is_err(), "{other}");
            assert!(Bootstrap::new(&format!("{other}{digest}")).is_ok(), "{other}");
        }
        assert!(Bootstrap::new("/srv/a.tar#sha256=abc").is_err());
        let file = Bootstrap::new(&format!("/srv/#1.tar{digest}")).unwrap();
        assert_eq!((file.source.to_string(), file.sha256), ("/srv/#1.tar".to_owned(), Some("ab".repeat(32))));
        let shown = Bootstrap::new("https://user:secret@example.com/a.tar?token=secret").unwrap();
        assert_eq!(shown.source.to_string(), "https://example.com/a.tar");
        assert!(!format!("{shown:?}").contains("secret"));
    }
}
