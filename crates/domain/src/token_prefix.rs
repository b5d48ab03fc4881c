use std::{
    str::FromStr,
    sync::{Arc, OnceLock},
};

use crate::TokenKind;

/// BNB Smart Chain and its test network, where token standards are called BEP.
const BSC_CHAIN_IDS: [u64; 2] = [56, 97];

/// The prefix of token standards: BEP20 or ERC20. By default the one in the specification of the API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenPrefix {
    #[default]
    Bep,
    Erc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected BEP or ERC")]
pub struct UnknownTokenPrefix;

impl TokenPrefix {
    /// The prefix that users of a chain know.
    #[must_use]
    pub(crate) fn of_chain(chain_id: u64) -> Self {
        if BSC_CHAIN_IDS.contains(&chain_id) { Self::Bep } else { Self::Erc }
    }

    /// The name of a standard.
    #[must_use]
    pub fn name(self, kind: TokenKind) -> &'static str {
        match (self, kind) {
            (Self::Bep, TokenKind::Bep20) => "BEP20",
            (Self::Bep, TokenKind::Bep721) => "BEP721",
            (Self::Bep, TokenKind::Bep1155) => "BEP1155",
            (Self::Erc, TokenKind::Bep20) => "ERC20",
            (Self::Erc, TokenKind::Bep721) => "ERC721",
            (Self::Erc, TokenKind::Bep1155) => "ERC1155",
        }
    }
}

impl FromStr for TokenPrefix {
    type Err = UnknownTokenPrefix;

    fn from_str(text: &str) -> Result<Self, UnknownTokenPrefix> {
        match text {
            "BEP" => Ok(Self::Bep),
            "ERC" => Ok(Self::Erc),
            _ => Err(UnknownTokenPrefix),
        }
    }
}

/// The prefix that pages show, that of the followed chain, which may become known after the start: when the node answers for the first time. Clones
/// share it.
#[derive(Debug, Clone, Default)]
pub struct ChainTokenPrefix(Arc<OnceLock<TokenPrefix>>);

impl From<TokenPrefix> for ChainTokenPrefix {
    fn from(prefix: TokenPrefix) -> Self {
        Self(Arc::new(OnceLock::from(prefix)))
    }
}

impl ChainTokenPrefix {
    /// Chooses the prefix by the chain, unless it was chosen before.
    pub fn choose(&self, chain_id: u64) {
        self.0.get_or_init(|| TokenPrefix::of_chain(chain_id));
    }

    #[must_use]
    pub fn is_chosen(&self) -> bool {
        self.0.get().is_some()
    }

    /// Before the chain is known, nothing is indexed, and no token has a type.
    #[must_use]
    pub fn get(&self) -> TokenPrefix {
        self.0.get().copied().unwrap_or(TokenPrefix::Erc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bsc_has_its_own_prefix() {
        assert_eq!([56, 97].map(TokenPrefix::of_chain), [TokenPrefix::Bep; 2]);
        assert_eq!([1, 10, 57, 1337, 31_337].map(TokenPrefix::of_chain), [TokenPrefix::Erc; 5]);
    }

    #[test]
    fn the_first_choice_stays() {
        let of_chain = ChainTokenPrefix::default();
        let shared = of_chain.clone();
        assert_eq!((of_chain.get(), of_chain.is_chosen()), (TokenPrefix::Erc, false));
        shared.choose(56);
        shared.choose(1);
        assert_eq!((of_chain.get(), of_chain.is_chosen()), (TokenPrefix::Bep, true));
        let given = ChainTokenPrefix::from(TokenPrefix::Erc);
        given.choose(56);
        assert_eq!(given.get(), TokenPrefix::Erc);
    }
}
