domain::all_variants! {
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
        Topic0,
        Topic1,
        Topic2,
        Topic3,
    }
}

impl FilterKey {
    /// Topics by position.
    pub(super) const TOPICS: [Self; domain::MAX_TOPICS] = [Self::Topic0, Self::Topic1, Self::Topic2, Self::Topic3];

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
            Self::Topic0 => "topic0",
            Self::Topic1 => "topic1",
            Self::Topic2 => "topic2",
            Self::Topic3 => "topic3",
        }
    }
}
