//! Builds of the compiler that this program knows in the npm registry, and what their packages must hash to. A package
//! that hashes to something else is not used, whoever serves it.

use super::CompilerVersion;

const PINNED: &str = include_str!("npm_packages.txt");
/// Releases that the registry does not have, and why.
const LACKING: [((u16, u16, u16), &str); 2] = [
    ((0, 4, 12), "the npm registry, where its compilers come from, has no package of it"),
    ((0, 8, 1), "in the npm registry, where its compilers come from, the package of that name holds 0.8.0"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    /// Mostly the compiler's own; some were published again under another name.
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

/// The build of a release.
pub(super) fn find(release: &CompilerVersion) -> Option<(CompilerVersion, Package)> {
    all().find(|(version, _)| version.same_release(release))
}

/// Why the registry does not have a release that exists.
pub(super) fn why_lacking(version: &CompilerVersion) -> Option<&'static str> {
    LACKING.iter().find(|(release, _)| version.is_release() && *release == version.release()).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_pins_is_read_and_names_one_build() {
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
    fn corrupt_packages_are_passed_over_for_those_that_were_mended() {
        let package = |text: &str| find(&text.parse().unwrap()).map(|(_, package)| package.version);
        assert_eq!(package("0.8.7").as_deref(), Some("0.8.7-fixed"));
        assert_eq!(package("0.8.20+commit.a1b79de6").as_deref(), Some("0.8.20"));
        assert_eq!(package("0.8.20-nightly.2023.4.1+commit.11111111"), None);
        for lacking in ["0.4.12", "0.8.1"] {
            assert_eq!(package(lacking), None);
            assert!(why_lacking(&lacking.parse().unwrap()).is_some());
        }
    }
}
