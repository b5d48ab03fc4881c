/// The name of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterKey {
    Address,
    From,
    To,
    BlockNumber,
    BlockFrom,
    BlockTo,
    TokenAddress,
    Dex,
}

impl FilterKey {
    pub(super) const ALL: [Self; 8] = [
        Self::Address,
        Self::From,
        Self::To,
        Self::BlockNumber,
        Self::BlockFrom,
        Self::BlockTo,
        Self::TokenAddress,
        Self::Dex,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::From => "from",
            Self::To => "to",
            Self::BlockNumber => "blockNumber",
            Self::BlockFrom => "blockFrom",
            Self::BlockTo => "blockTo",
            Self::TokenAddress => "tokenAddress",
            Self::Dex => "dex",
        }
    }
}
