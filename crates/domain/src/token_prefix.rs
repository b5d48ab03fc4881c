use std::str::FromStr;

use crate::TokenKind;

/// The prefix of token standards on a chain: BEP20 or ERC20.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenPrefix {
    #[default]
    Bep,
    Erc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected BEP or ERC")]
pub struct UnknownTokenPrefix;

impl TokenPrefix {
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
