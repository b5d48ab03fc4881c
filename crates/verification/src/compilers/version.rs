use std::{fmt, str::FromStr};

use domain::Language;

/// The oldest release of solc that takes standard JSON input.
const OLDEST_SOLC: (u16, u16, u16) = (0, 4, 11);
const OLDEST_VYPER: (u16, u16, u16) = (0, 1, 0);
/// Digits of a commit that are compared. Vyper's package on PyPI names seven.
const COMMIT_DIGITS: usize = 8;
const MIN_VYPER_COMMIT: usize = 7;
/// How many similar versions an error suggests.
const MAX_SUGGESTIONS: usize = 5;
type Release = (u16, u16, u16);

/// Releases that were built from two commits with identical compilers.
const REBUILT: [(Release, [&str; 2]); 3] = [
    ((0, 4, 15), ["bbb8e64f", "8b45bddb"]),
    ((0, 5, 9), ["e560f70d", "c68bc34e"]),
    ((0, 5, 11), ["c082d0b4", "22be8592"]),
];

/// The version of a compiler: a release or an earlier build. That of a Vyper compiler is written with the prefix `vyper:`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CompilerVersion {
    language: Language,
    release: (u16, u16, u16),
    /// Such as `nightly.2023.4.1`; of Vyper such as `rc1`.
    prerelease: Option<String>,
    /// Eight hexadecimal digits, of Vyper seven or eight; None means the commit of the release.
    commit: Option<String>,
}

/// Why a compiler version is unavailable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    #[error(
        "must be the version of a Solidity compiler, such as v0.8.20+commit.a1b79de6 or 0.8.20, or of a Vyper compiler, such as vyper:0.3.10"
    )]
    Malformed,
    #[error("is older than 0.4.11, the first compiler that takes standard JSON input")]
    TooOld,
    #[error("is that of a {} compiler, but sourceCode is {}", compiler.name(), source_code.name())]
    OtherLanguage { compiler: Language, source_code: Language },
    /// Vyper compilers are only installed by the operator.
    #[error("{release} is not installed on this server. It has {}", near.join(", "))]
    NotInstalled { release: String, near: Vec<String> },
    #[error("is not known; the nearest are {}", near.join(", "))]
    Unknown { near: Vec<String> },
    #[error("is not known, and this server has no other compilers")]
    NoCompilers,
    /// It exists, but not at the compiler source of this server.
    #[error("{release} is not available on this server: {why}. A server with another --compiler-source may have it")]
    Unavailable { release: String, why: String },
    #[error("does not exist with this commit: {} is {actual}", wanted.short())]
    OtherCommit { wanted: CompilerVersion, actual: CompilerVersion },
}

impl CompilerVersion {
    /// Parses the version of a compiler of this language; the prefix of Vyper is optional.
    pub fn parse(text: &str, language: Language) -> Result<Self, VersionError> {
        let text = text.trim();
        match (language, without_vyper(text)) {
            (Language::Solidity, None) => Self::parse_solc(text),
            (Language::Vyper, named) => Self::parse_vyper(named.unwrap_or(text)),
            (Language::Solidity, Some(_)) => {
                Err(VersionError::OtherLanguage { compiler: Language::Vyper, source_code: language })
            }
        }
    }

    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

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

    /// `0.8.20`, with the date of a nightly, or `vyper:0.3.10`.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{}{}", self.prefix(), self.number())
    }

    /// The full version without the prefix of Vyper.
    #[must_use]
    pub(crate) fn without_language(&self) -> String {
        let number = self.number();
        match &self.commit {
            Some(commit) => format!("{number}+commit.{commit}"),
            None => number,
        }
    }

    fn prefix(&self) -> &'static str {
        match self.language {
            Language::Solidity => "",
            Language::Vyper => Language::VYPER_PREFIX,
        }
    }

    fn number(&self) -> String {
        let (major, minor, patch) = self.release;
        match (&self.prerelease, self.language) {
            (Some(tag), Language::Solidity) => format!("{major}.{minor}.{patch}-{tag}"),
            (Some(tag), Language::Vyper) => format!("{major}.{minor}.{patch}{tag}"),
            (None, _) => format!("{major}.{minor}.{patch}"),
        }
    }

    pub(crate) fn same_release(&self, other: &Self) -> bool {
        self.language == other.language && self.release == other.release && self.prerelease == other.prerelease
    }

    /// Whether this compiler satisfies the requested version.
    pub(crate) fn satisfies(&self, wanted: &Self) -> bool {
        self.same_release(wanted)
            && match (&self.commit, &wanted.commit) {
                (Some(own), Some(wanted)) if self.language == Language::Vyper => {
                    own.starts_with(wanted.as_str()) || wanted.starts_with(own.as_str())
                }
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
        name == self.short() || name.parse::<Self>().is_ok_and(|named| self.satisfies(&named))
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
        available.retain(|version| version.language == wanted.language);
        let near: Vec<String> = available.iter().take(MAX_SUGGESTIONS).map(CompilerVersion::short).collect();
        match wanted.language {
            _ if near.is_empty() => Self::NoCompilers,
            Language::Solidity => Self::Unknown { near },
            Language::Vyper => Self::NotInstalled { release: wanted.short(), near },
        }
    }
}

impl FromStr for CompilerVersion {
    type Err = VersionError;

    /// With the prefix of Vyper, the version of a Vyper compiler, otherwise of a Solidity compiler.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let named = without_vyper(text.trim());
        Self::parse(text, if named.is_some() { Language::Vyper } else { Language::Solidity })
    }
}

impl CompilerVersion {
    fn parse_solc(text: &str) -> Result<Self, VersionError> {
        let (front, build) = split_build(text);
        let (numbers, prerelease) =
            front.split_once('-').map_or((front, None), |(numbers, rest)| (numbers, Some(rest)));
        let release = release(numbers)?;
        let prerelease =
            prerelease.map(|tag| is_prerelease(tag).then(|| tag.to_owned()).ok_or(VersionError::Malformed));
        let commit = build.map(|build| commit(build, COMMIT_DIGITS)).transpose()?;
        if release < OLDEST_SOLC {
            return Err(VersionError::TooOld);
        }
        Ok(Self { language: Language::Solidity, release, prerelease: prerelease.transpose()?, commit })
    }

    /// `0.3.10+commit.91361694`, `0.4.1rc2`, `0.1.0b17` or `0.1.0-beta.17`.
    fn parse_vyper(text: &str) -> Result<Self, VersionError> {
        let (front, build) = split_build(text);
        let tag_at = front.find(|character: char| !character.is_ascii_digit() && character != '.');
        let (numbers, tag) = front.split_at(tag_at.unwrap_or(front.len()));
        let release = release(numbers)?;
        let prerelease = tag_at.map(|_| vyper_prerelease(tag)).transpose()?;
        let commit = build.map(|build| commit(build, MIN_VYPER_COMMIT)).transpose()?;
        if release < OLDEST_VYPER {
            return Err(VersionError::Malformed);
        }
        Ok(Self { language: Language::Vyper, release, prerelease, commit })
    }
}

/// What follows `vyper:` or `vyper-`.
fn without_vyper(text: &str) -> Option<&str> {
    text.strip_prefix("vyper")?.strip_prefix([':', '-'])
}

/// The version without a leading `v`, and what follows the `+`.
fn split_build(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    text.split_once('+').map_or((text, None), |(front, build)| (front, Some(build)))
}

fn release(numbers: &str) -> Result<Release, VersionError> {
    let mut parts = numbers.split('.').map(number);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(major), Some(minor), Some(patch), None) => Ok((major?, minor?, patch?)),
        _ => Err(VersionError::Malformed),
    }
}

/// `b17` for `b17`, `-beta.17` and `-b17`.
fn vyper_prerelease(tag: &str) -> Result<String, VersionError> {
    let tag = tag.strip_prefix('-').unwrap_or(tag);
    for (name, short) in [("alpha", "a"), ("beta", "b"), ("a", "a"), ("b", "b"), ("rc", "rc")] {
        if let Some(rest) = tag.strip_prefix(name) {
            let count = number(rest.strip_prefix('.').unwrap_or(rest))?;
            return Ok(format!("{short}{count}"));
        }
    }
    Err(VersionError::Malformed)
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
fn commit(text: &str, shortest: usize) -> Result<String, VersionError> {
    let mut parts = text.split('.');
    let (Some("commit"), Some(hash)) = (parts.next(), parts.next()) else { return Err(VersionError::Malformed) };
    let platform = text.len() <= 60 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+_-".contains(&byte));
    if hash.len() < shortest || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) || !platform {
        return Err(VersionError::Malformed);
    }
    Ok(hash[..hash.len().min(COMMIT_DIGITS)].to_ascii_lowercase())
}

impl fmt::Display for CompilerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.prefix(), self.without_language())
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
            assert!(own.satisfies(&version(wanted)), "{wanted}");
        }
        for other in ["0.5.9+commit.11111111", "0.5.10", "0.5.9-nightly.2019.5.1+commit.e560f70d"] {
            assert!(!own.satisfies(&version(other)), "{other}");
        }
        assert!(own.is_named("0.5.9") && !own.is_named("0.5.10") && !own.is_named("nonsense"));
    }

    #[test]
    fn versions_of_vyper_have_a_prefix() {
        for text in
            ["vyper:0.3.10+commit.91361694", "vyper:v0.3.10+commit.9136169400", "vyper-0.3.10+commit.91361694.linux"]
        {
            assert_eq!(version(text).to_string(), "vyper:0.3.10+commit.91361694", "{text}");
        }
        let parse = |text: &str| CompilerVersion::parse(text, Language::Vyper).map(|version| version.to_string());
        assert_eq!(parse("v0.3.10+commit.9136169").as_deref(), Ok("vyper:0.3.10+commit.9136169"));
        assert_eq!(parse("vyper:0.3.10").as_deref(), Ok("vyper:0.3.10"));
        for text in ["0.1.0b17", "0.1.0-beta.17", "vyper:0.1.0-b17"] {
            assert_eq!(parse(text).as_deref(), Ok("vyper:0.1.0b17"), "{text}");
        }
        assert_eq!(parse("0.4.1rc2+commit.8a93dd27").as_deref(), Ok("vyper:0.4.1rc2+commit.8a93dd27"));
        for text in
            ["", "vyper:", "vyper", "vyper:latest", "0.3", "0.3.10x1", "0.3.10b", "0.3.10+commit.913616", "0.0.4"]
        {
            assert_eq!(parse(text), Err(VersionError::Malformed), "{text}");
        }
        let release = version("vyper:0.3.10");
        assert_eq!(release.without_language(), "0.3.10");
        assert_eq!((release.language(), release.is_release()), (Language::Vyper, true));
        assert!(!version("vyper:0.4.1rc2").is_release());
    }

    #[test]
    fn a_version_of_vyper_matches_by_the_digits_that_both_commits_have() {
        let own = version("vyper:0.3.10+commit.9136169");
        for wanted in ["vyper:0.3.10", "vyper:0.3.10+commit.91361694", "vyper:0.3.10+commit.9136169"] {
            assert!(own.satisfies(&version(wanted)), "{wanted}");
        }
        assert!(!own.satisfies(&version("vyper:0.3.10+commit.91361704")));
        let solc = CompilerVersion::parse("0.8.20", Language::Solidity).unwrap();
        assert!(!solc.satisfies(&CompilerVersion::parse("0.8.20", Language::Vyper).unwrap()), "another language");
        let error = CompilerVersion::parse("vyper:0.3.10", Language::Solidity).unwrap_err();
        assert_eq!(error.to_string(), "is that of a Vyper compiler, but sourceCode is Solidity");
    }

    #[test]
    fn only_compilers_of_the_same_language_are_suggested() {
        let available = ["0.8.20", "vyper:0.3.10", "vyper:0.4.3"].map(version).to_vec();
        let error = VersionError::unknown(&version("vyper:0.3.9"), available);
        let text = "vyper:0.3.9 is not installed on this server. It has vyper:0.3.10, vyper:0.4.3";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn the_nearest_versions_are_suggested() {
        let available = ["0.8.20", "0.4.26", "0.8.25", "0.8.27", "0.7.6", "0.8.28"].map(version).to_vec();
        let error = VersionError::unknown(&version("0.8.26"), available);
        assert_eq!(error.to_string(), "is not known; the nearest are 0.8.25, 0.8.27, 0.8.28, 0.8.20, 0.7.6");
    }
}
