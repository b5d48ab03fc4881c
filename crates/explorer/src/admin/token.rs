//! The token that the admin interface requires on a port.

use std::{
    fs::OpenOptions,
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use anyhow::{Context, bail};
use axum::http::{HeaderMap, header::AUTHORIZATION};
use subtle::ConstantTimeEq;

use crate::config::admin::TokenSource;

/// In the data folder, if the operator gives no other file.
const FILE: &str = "admin.token";
/// In the data folder: for programs that collect metrics, and must not be able to change anything.
const METRICS_FILE: &str = "metrics.token";
/// Shorter ones could be guessed.
const MIN_BYTES: usize = 16;
const MAX_BYTES: u64 = 4_096;

/// Creates the file, readable by its owner alone. An existing one stays.
fn create(folder: &Path, path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    let temporary = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    writeln!(file, "{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>())?;
    file.sync_all()?;
    // A link appears with its content, and only if no other process was first.
    let linked = std::fs::hard_link(&temporary, path);
    std::fs::remove_file(&temporary)?;
    linked.or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

pub(crate) struct AdminToken(String);

impl AdminToken {
    pub(crate) fn load(source: &TokenSource) -> anyhow::Result<Self> {
        let path = match source {
            TokenSource::File(path) => path.clone(),
            TokenSource::Folder(folder) => return Self::load_or_create(folder, FILE),
        };
        Self::read(&path)
    }

    /// The token that only reads metrics.
    pub(crate) fn of_metrics(folder: &Path) -> anyhow::Result<Self> {
        Self::load_or_create(folder, METRICS_FILE)
    }

    fn load_or_create(folder: &Path, name: &str) -> anyhow::Result<Self> {
        let path = folder.join(name);
        create(folder, &path).with_context(|| format!("cannot create the admin token {}", path.display()))?;
        Self::read(&path)
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = read(path).with_context(|| format!("cannot read the admin token {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("invalid admin token in {}", path.display()))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let token = text.trim();
        if token.len() < MIN_BYTES || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!("it must have at least {MIN_BYTES} letters, digits or signs, and no spaces");
        }
        Ok(Self(token.to_owned()))
    }

    /// Whether the request has this token.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        let sent = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().split_at_checked("Bearer ".len()));
        sent.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(token.ct_eq(self.0.as_bytes()))
        })
    }
}

impl std::fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdminToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_created_once_and_compared_with_the_header() {
        let folder = tempfile::tempdir().unwrap();
        let source = TokenSource::Folder(folder.path().join("new"));
        let token = AdminToken::load(&source).unwrap();
        assert_eq!(AdminToken::load(&source).unwrap().0, token.0);
        let has = |value: &str| token.is_in(&HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]));
        assert!(has(&format!("Bearer {}", token.0)) && has(&format!("bearer {}", token.0)));
        for wrong in ["", "Bearer", "Bearer ", "Basic abc", &format!("Bearer {}x", token.0), &token.0] {
            assert!(!has(wrong), "{wrong}");
        }
        assert!(!token.is_in(&HeaderMap::new()));
    }

    #[test]
    fn short_tokens_and_tokens_with_spaces_are_refused() {
        for text in ["", "short\n", "a token with spaces in it", "täglich ein neuer Token"] {
            assert!(AdminToken::parse(text).is_err(), "{text}");
        }
        assert_eq!(AdminToken::parse(" 0123456789abcdef\n").unwrap().0, "0123456789abcdef");
    }
}
