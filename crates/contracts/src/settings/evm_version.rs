use crate::CompilerVersion;

/// The rules of the chain that code is compiled for, oldest first.
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

type Release = (u16, u16, u16);

/// The first compiler that could be told which rules to compile for.
const FIRST_TOLD: Release = (0, 4, 21);

impl EvmVersion {
    pub const ALL: [Self; 14] = [
        Self::Homestead,
        Self::TangerineWhistle,
        Self::SpuriousDragon,
        Self::Byzantium,
        Self::Constantinople,
        Self::Petersburg,
        Self::Istanbul,
        Self::Berlin,
        Self::London,
        Self::Paris,
        Self::Shanghai,
        Self::Cancun,
        Self::Prague,
        Self::Osaka,
    ];

    /// One of each kind that compilers tell apart in nearly all code.
    const KINDS: [Self; 7] = [
        Self::Homestead,
        Self::Byzantium,
        Self::Petersburg,
        Self::Istanbul,
        Self::London,
        Self::Shanghai,
        Self::Cancun,
    ];

    /// As the compiler calls it.
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

    /// The compiler that knew these rules first, or a later one that surely does.
    fn known_since(self) -> Release {
        match self {
            Self::Homestead
            | Self::TangerineWhistle
            | Self::SpuriousDragon
            | Self::Byzantium
            | Self::Constantinople => FIRST_TOLD,
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

    /// All that a compiler can surely be told.
    pub(crate) fn known_to(compiler: &CompilerVersion) -> Vec<Self> {
        let release = compiler.release();
        Self::ALL.into_iter().filter(|version| version.known_since() <= release).collect()
    }

    /// All that the metadata of a compiler can name: what it surely knows, and the next two, which it may know already.
    pub(crate) fn named_by(compiler: &CompilerVersion) -> Vec<Self> {
        let known = Self::known_to(compiler).len();
        Self::ALL.into_iter().take(known + 2).collect()
    }

    /// What a compiler takes if it is not told; None for compilers that cannot be told.
    #[must_use]
    pub fn default_of(compiler: &CompilerVersion) -> Option<Self> {
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
            (FIRST_TOLD, Self::Byzantium),
        ];
        since.into_iter().find(|(first, _)| compiler.release() >= *first).map(|(_, version)| version)
    }

    /// Those to compile for, one of each kind: the compiler's own choice first, then from the newest down.
    pub(crate) fn kinds_for(compiler: &CompilerVersion) -> Vec<Self> {
        let Some(default) = Self::default_of(compiler) else { return Vec::new() };
        let known = Self::known_to(compiler);
        let others = Self::KINDS.into_iter().rev().filter(|kind| known.contains(kind) && !kind.is_kin_of(default));
        std::iter::once(default).chain(others).collect()
    }

    /// Whether code hardly ever shows a difference.
    fn is_kin_of(self, other: Self) -> bool {
        let kind = |version: Self| Self::KINDS.into_iter().rev().find(|kind| *kind <= version);
        // Constantinople is told from Byzantium, not from Petersburg.
        let settled = |version| if version == Self::Constantinople { Self::Petersburg } else { version };
        kind(settled(self)) == kind(settled(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(compiler: &str) -> Vec<&'static str> {
        EvmVersion::kinds_for(&compiler.parse().unwrap()).into_iter().map(EvmVersion::name).collect()
    }

    #[test]
    fn a_compiler_is_asked_for_what_it_knows_its_own_choice_first() {
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
    fn names_are_read_back() {
        for version in EvmVersion::ALL {
            assert_eq!(EvmVersion::from_name(version.name()), Some(version));
        }
        assert_eq!(EvmVersion::from_name("Frontier"), None);
    }
}
