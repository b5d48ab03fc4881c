use std::{fmt, str::FromStr};

/// The oldest release that takes standard JSON input.
const OLDEST: (u16, u16, u16) = (0, 4, 11);
/// How many similar versions an error suggests.
const MAX_SUGGESTIONS: usize = 5;
type Release = (u16, u16, u16);

/// Releases that were built from two commits with identical compilers.
const REBUILT: [(Release, [&str; 2]); 3] = [
    ((0, 4, 15), ["bbb8e64f", "8b45bddb"]),
    ((0, 5, 9), ["e560f70d", "c68bc34e"]),
    ((0, 5, 11), ["c082d0b4", "22be8592"]),
];

/// The version of a compiler: a release or a nightly build.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CompilerVersion {
    release: (u16, u16, u16),
    /// Such as `nightly.2023.4.1`.
    prerelease: Option<String>,
    /// Eight hexadecimal digits; None means the commit of the release.
    commit: Option<String>,
}

/// Why a compiler version is unavailable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    #[error("must be the version of a Solidity compiler, such as v0.8.20+commit.a1b79de6 or 0.8.20")]
    Malformed,
    #[error("is older than 0.4.11, the first compiler that takes standard JSON input")]
    TooOld,
    #[error("is not known; the nearest are {}", near.join(", "))]
    Unknown { near: Vec<String> },
    #[error("is not known, and this server has no other compilers")]
    NoCompilers,
    /// It exists, but not at the compiler source of this server.
    #[error("{release} is not available on this server: {why}. A server with another --compiler-source may have it")]
    Unavailable { release: String, why: String },
    #[error("does not exist with this commit: {} is {own}", wanted.short())]
    OtherCommit { wanted: CompilerVersion, own: CompilerVersion },
}

impl CompilerVersion {
    #[must_use]
    pub fn release(&self) -> (u16, u16, u16) {
        self.release
    }

    pub(crate) fn is_release(&self) -> bool {
        self.prerelease.is_none()
    }

    pub(crate) fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// `0.8.20`, with the date of a nightly.
    #[must_use]
    pub fn short(&self) -> String {
        let (major, minor, patch) = self.release;
        match &self.prerelease {
            Some(tag) => format!("{major}.{minor}.{patch}-{tag}"),
            None => format!("{major}.{minor}.{patch}"),
        }
    }

    pub(crate) fn same_release(&self, other: &Self) -> bool {
        self.release == other.release && self.prerelease == other.prerelease
    }

    /// Whether this compiler satisfies the requested version.
    pub(crate) fn is(&self, wanted: &Self) -> bool {
        self.same_release(wanted)
            && match (&self.commit, &wanted.commit) {
                (Some(own), Some(wanted)) => own == wanted || self.is_rebuild(own, wanted),
                _ => true,
            }
    }

    fn is_rebuild(&self, one: &str, other: &str) -> bool {
        REBUILT
            .iter()
            .any(|(release, commits)| *release == self.release && commits.contains(&one) && commits.contains(&other))
    }

    /// Whether the compiler name in metadata matches this version.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        name == self.short() || name.parse::<Self>().is_ok_and(|named| self.is(&named))
    }
}

impl VersionError {
    /// With the nearest of the available versions.
    pub(crate) fn unknown(wanted: &CompilerVersion, mut available: Vec<CompilerVersion>) -> Self {
        let rank = |version: &CompilerVersion| {
            let (major, minor, patch) = version.release;
            i64::from(major) * 1_000_000 + i64::from(minor) * 1_000 + i64::from(patch)
        };
        available.sort_by_key(|version| (rank(version).abs_diff(rank(wanted)), version.clone()));
        available.dedup();
        let near: Vec<String> = available.iter().take(MAX_SUGGESTIONS).map(CompilerVersion::short).collect();
        if near.is_empty() { Self::NoCompilers } else { Self::Unknown { near } }
    }
}

impl FromStr for CompilerVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let (front, build) = text.split_once('+').map_or((text, None), |(front, build)| (front, Some(build)));
        let (numbers, prerelease) =
            front.split_once('-').map_or((front, None), |(numbers, rest)| (numbers, Some(rest)));
        let mut parts = numbers.split('.').map(number);
        let (Some(major), Some(minor), Some(patch), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(VersionError::Malformed);
        };
        let release = (major?, minor?, patch?);
        let prerelease =
            prerelease.map(|tag| is_prerelease(tag).then(|| tag.to_owned()).ok_or(VersionError::Malformed));
        let commit = build.map(commit).transpose()?;
        if release < OLDEST {
            return Err(VersionError::TooOld);
        }
        Ok(Self { release, prerelease: prerelease.transpose()?, commit })
    }
}

fn number(text: &str) -> Result<u16, VersionError> {
    let plain = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten().ok_or(VersionError::Malformed)
}

/// `nightly.2023.4.1`, or the tag of a development build.
fn is_prerelease(text: &str) -> bool {
    let known = ["nightly", "develop", "ci", "pre", "alpha", "beta", "rc"];
    let first = text.split('.').next().unwrap_or_default();
    known.contains(&first) && text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}

/// `commit.a1b79de6`, optionally followed by the platform, which is ignored.
fn commit(text: &str) -> Result<String, VersionError> {
    let mut parts = text.split('.');
    let (Some("commit"), Some(hash)) = (parts.next(), parts.next()) else { return Err(VersionError::Malformed) };
    let platform = text.len() <= 60 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+_-".contains(&byte));
    if hash.len() < 8 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) || !platform {
        return Err(VersionError::Malformed);
    }
    Ok(hash[..8].to_ascii_lowercase())
}

impl fmt::Display for CompilerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())?;
        match &self.commit {
            Some(commit) => write!(f, "+commit.{commit}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> CompilerVersion {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn all_common_version_formats_are_parsed() {
        for text in [
            "v0.8.20+commit.a1b79de6",
            "0.8.20+commit.a1b79de6",
            "0.8.20+commit.a1b79de6.Emscripten.clang",
            "0.8.20+commit.A1B79DE6.Linux.g++",
            " v0.8.20+commit.a1b79de6 ",
        ] {
            assert_eq!(version(text).to_string(), "0.8.20+commit.a1b79de6", "{text}");
        }
        assert_eq!(version("v0.8.20").to_string(), "0.8.20");
        let nightly = version("v0.8.20-nightly.2023.4.1+commit.11111111");
        assert_eq!(nightly.to_string(), "0.8.20-nightly.2023.4.1+commit.11111111");
        assert!(!nightly.is_release());
    }

    #[test]
    fn invalid_versions_are_rejected() {
        for text in [
            "",
            "v",
            "latest",
            "0.8",
            "0.8.20.1",
            "0.8.x",
            "0.8.-1",
            "0.8.20+",
            "0.8.20+a1b79de6",
            "0.8.20+commit.zz",
            "0.8.20+commit.",
            "0.8.20-../../etc",
            "0.8.20-nightly.$(id)",
            "^0.8.20",
            "0.8.99999999999999999999",
            "0.8.20+commit.a1b79de6/../..",
            "0.8.20 ; ls",
        ] {
            assert_eq!(text.parse::<CompilerVersion>(), Err(VersionError::Malformed), "{text}");
        }
        assert_eq!("0.4.10".parse::<CompilerVersion>(), Err(VersionError::TooOld));
        assert_eq!("0.3.6".parse::<CompilerVersion>(), Err(VersionError::TooOld));
    }

    #[test]
    fn a_release_matches_by_number_by_commit_or_by_rebuilt_commit() {
        let own = version("0.5.9+commit.e560f70d");
        for wanted in ["0.5.9", "0.5.9+commit.e560f70d", "0.5.9+commit.c68bc34e"] {
            assert!(own.is(&version(wanted)), "{wanted}");
        }
        for other in ["0.5.9+commit.11111111", "0.5.10", "0.5.9-nightly.2019.5.1+commit.e560f70d"] {
            assert!(!own.is(&version(other)), "{other}");
        }
        assert!(own.is_named("0.5.9") && !own.is_named("0.5.10") && !own.is_named("nonsense"));
    }

    #[test]
    fn the_nearest_versions_are_suggested() {
        let available = ["0.8.20", "0.4.26", "0.8.25", "0.8.27", "0.7.6", "0.8.28"].map(version).to_vec();
        let error = VersionError::unknown(&version("0.8.26"), available);
        assert_eq!(error.to_string(), "is not known; the nearest are 0.8.25, 0.8.27, 0.8.28, 0.8.20, 0.7.6");
    }
}
