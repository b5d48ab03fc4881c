use super::filter_key::FilterKey::{
    self, Address, BlockFrom, BlockNumber, BlockTo, Dex, From, To, TokenAddress, Topic0, Topic1, Topic2, Topic3,
};

domain::all_variants! {
    /// A kind of record that can be queried.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Entity {
        Transactions,
        Blocks,
        Tokens,
        TokenTransfers,
        DexTrades,
        Logs,
    }
}

impl Entity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Blocks => "blocks",
            Self::Tokens => "tokens",
            Self::TokenTransfers => "token_transfers",
            Self::DexTrades => "dex_trades",
            Self::Logs => "logs",
        }
    }

    pub(super) fn filters(self) -> &'static [FilterKey] {
        match self {
            Self::Transactions => &[Address, From, To, BlockNumber, BlockFrom, BlockTo],
            Self::Blocks => &[BlockFrom, BlockTo],
            Self::Tokens => &[],
            Self::TokenTransfers => &[Address, From, To, TokenAddress, BlockFrom, BlockTo],
            Self::DexTrades => &[Address, Dex, BlockFrom, BlockTo],
            Self::Logs => &[Address, Topic0, Topic1, Topic2, Topic3, BlockFrom, BlockTo],
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|entity| entity.name() == name)
    }

    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}
