//! The compiler builds pinned by the hash of their npm package. A package with another hash is rejected.

use domain::Language;

use super::CompilerVersion;

const PINNED: &str = include_str!("npm_packages.txt");
/// Releases that are missing in the registry, and why.
const UNAVAILABLE: [((u16, u16, u16), &str); 2] = [
    ((0, 4, 12), "the npm registry, the compiler source of this server, has no package for it"),
    ((0, 8, 1), "in the npm registry, the compiler source of this server, the package of that name holds 0.8.0"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    /// Usually the compiler version; some were republished under another one.
    pub(super) version: String,
    pub(super) integrity: String,
}

pub(super) fn all() -> impl Iterator<Item = (CompilerVersion, Package)> {
    PINNED.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (build, version, integrity) = (words.next()?, words.next()?, words.next()?);
        let package = Package { version: version.to_owned(), integrity: integrity.to_owned() };
        Some((build.parse().ok()?, package))
    })
}

/// The pinned build of a release.
pub(super) fn find(release: &CompilerVersion) -> Option<(CompilerVersion, Package)> {
    all().find(|(version, _)| version.same_release(release))
}

/// Why an existing release is missing in the registry.
pub(super) fn why_unavailable(version: &CompilerVersion) -> Option<&'static str> {
    let is_solc = version.language() == Language::Solidity && version.is_release();
    UNAVAILABLE.iter().find(|(release, _)| is_solc && *release == version.release()).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pinned_line_is_parsed_and_names_one_build() {
        let lines = PINNED.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(all().count(), lines);
        assert!(lines > 80);
        assert!(all().all(|(_, package)| package.integrity.starts_with("sha512-") && package.integrity.len() == 95));
        assert!(all().all(|(version, _)| version.is_release() && version.commit().is_some()));
        let mut versions: Vec<_> = all().map(|(version, _)| version.release()).collect();
        versions.dedup();
        assert_eq!(versions.len(), lines);
        assert!(versions.is_sorted());
    }

    #[test]
    fn corrupt_packages_are_replaced_by_their_fixed_versions() {
        let package = |text: &str| find(&text.parse().unwrap()).map(|(_, package)| package.version);
        assert_eq!(package("0.8.7").as_deref(), Some("0.8.7-fixed"));
        assert_eq!(package("0.8.20+commit.a1b79de6").as_deref(), Some("0.8.20"));
        assert_eq!(package("0.8.20-nightly.2023.4.1+commit.11111111"), None);
        for unavailable in ["0.4.12", "0.8.1"] {
            assert_eq!(package(unavailable), None);
            assert!(why_unavailable(&unavailable.parse().unwrap()).is_some());
        }
    }
}
