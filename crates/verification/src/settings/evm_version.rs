use crate::CompilerVersion;

domain::all_variants! {
    /// The EVM version that code is compiled for, oldest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum EvmVersion {
        Homestead,
        TangerineWhistle,
        SpuriousDragon,
        Byzantium,
        Constantinople,
        Petersburg,
        Istanbul,
        Berlin,
        London,
        Paris,
        Shanghai,
        Cancun,
        Prague,
        Osaka,
    }
}

type Release = (u16, u16, u16);

/// The first compiler with an `evmVersion` setting.
const FIRST_WITH_SETTING: Release = (0, 4, 21);

impl EvmVersion {
    /// One version of each group for which compilers generate nearly always the same code.
    const GROUPS: [Self; 7] = [
        Self::Homestead,
        Self::Byzantium,
        Self::Petersburg,
        Self::Istanbul,
        Self::London,
        Self::Shanghai,
        Self::Cancun,
    ];

    /// Its name in compiler settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Homestead => "homestead",
            Self::TangerineWhistle => "tangerineWhistle",
            Self::SpuriousDragon => "spuriousDragon",
            Self::Byzantium => "byzantium",
            Self::Constantinople => "constantinople",
            Self::Petersburg => "petersburg",
            Self::Istanbul => "istanbul",
            Self::Berlin => "berlin",
            Self::London => "london",
            Self::Paris => "paris",
            Self::Shanghai => "shanghai",
            Self::Cancun => "cancun",
            Self::Prague => "prague",
            Self::Osaka => "osaka",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name().eq_ignore_ascii_case(name))
    }

    /// A compiler release that supports this version; earlier ones may.
    fn supported_since(self) -> Release {
        match self {
            Self::Homestead
            | Self::TangerineWhistle
            | Self::SpuriousDragon
            | Self::Byzantium
            | Self::Constantinople => FIRST_WITH_SETTING,
            Self::Petersburg => (0, 5, 5),
            Self::Istanbul => (0, 5, 14),
            Self::Berlin => (0, 8, 5),
            Self::London => (0, 8, 7),
            Self::Paris => (0, 8, 18),
            Self::Shanghai => (0, 8, 20),
            Self::Cancun => (0, 8, 24),
            Self::Prague => (0, 8, 27),
            Self::Osaka => (0, 8, 30),
        }
    }

    /// All versions that a compiler is known to support.
    pub(crate) fn supported_by(compiler: &CompilerVersion) -> Vec<Self> {
        let release = compiler.release();
        Self::ALL.into_iter().filter(|version| version.supported_since() <= release).collect()
    }

    /// All versions that a compiler's metadata can name: the supported ones and the next two, which it may support.
    pub(crate) fn named_by(compiler: &CompilerVersion) -> Vec<Self> {
        let known = Self::supported_by(compiler).len();
        Self::ALL.into_iter().take(known + 2).collect()
    }

    /// The default of a compiler; None for compilers without the setting.
    #[must_use]
    pub(crate) fn default_of(compiler: &CompilerVersion) -> Option<Self> {
        let since = [
            ((0, 8, 31), Self::Osaka),
            ((0, 8, 30), Self::Prague),
            ((0, 8, 25), Self::Cancun),
            ((0, 8, 20), Self::Shanghai),
            ((0, 8, 18), Self::Paris),
            ((0, 8, 7), Self::London),
            ((0, 8, 5), Self::Berlin),
            ((0, 5, 14), Self::Istanbul),
            ((0, 5, 5), Self::Petersburg),
            (FIRST_WITH_SETTING, Self::Byzantium),
        ];
        since.into_iter().find(|(first, _)| compiler.release() >= *first).map(|(_, version)| version)
    }

    /// The versions to try, one of each group: the compiler's default first, then newest first.
    pub(crate) fn groups_for(compiler: &CompilerVersion) -> Vec<Self> {
        let Some(default) = Self::default_of(compiler) else { return Vec::new() };
        let known = Self::supported_by(compiler);
        let others =
            Self::GROUPS.into_iter().rev().filter(|group| known.contains(group) && !group.is_same_group(default));
        std::iter::once(default).chain(others).collect()
    }

    /// Whether generated code is nearly always the same.
    fn is_same_group(self, other: Self) -> bool {
        let group = |version: Self| Self::GROUPS.into_iter().rev().find(|group| *group <= version);
        // Constantinople has the code of Petersburg, not of Byzantium.
        let equivalent = |version| if version == Self::Constantinople { Self::Petersburg } else { version };
        group(equivalent(self)) == group(equivalent(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(compiler: &str) -> Vec<&'static str> {
        EvmVersion::groups_for(&compiler.parse().unwrap()).into_iter().map(EvmVersion::name).collect()
    }

    #[test]
    fn supported_versions_are_tried_with_the_default_first() {
        assert_eq!(kinds("0.4.20"), [] as [&str; 0]);
        assert_eq!(kinds("0.4.26"), ["byzantium", "homestead"]);
        assert_eq!(kinds("0.5.5"), ["petersburg", "byzantium", "homestead"]);
        assert_eq!(kinds("0.8.20"), ["shanghai", "london", "istanbul", "petersburg", "byzantium", "homestead"]);
        assert_eq!(
            kinds("0.8.31"),
            ["osaka", "shanghai", "london", "istanbul", "petersburg", "byzantium", "homestead"]
        );
        assert_eq!(kinds("0.8.19")[..2], ["paris", "istanbul"]);
    }

    #[test]
    fn names_round_trip() {
        for version in EvmVersion::ALL {
            assert_eq!(EvmVersion::from_name(version.name()), Some(version));
        }
        assert_eq!(EvmVersion::from_name("Frontier"), None);
    }
}
