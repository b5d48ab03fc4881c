domain::all_variants! {
    /// Who waits for a call. Decides in which order calls are sent, and which limits they share: the only place where calls to the node have
    /// priorities.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Lane {
        /// A request of a user.
        User,
        /// The next blocks of the index.
        Block,
        /// Nobody yet: blocks that are fetched ahead.
        Ahead,
        /// Nobody: contract data, audits, internal transactions, top accounts.
        Background,
    }
}

impl Lane {
    /// The share of a limited rate, relative to the other lanes that have calls to send. What a lane does not use is used by the others.
    pub(crate) fn weight(self) -> f64 {
        match self {
            Self::User | Self::Block => 8.0,
            Self::Ahead => 4.0,
            Self::Background => 1.0,
        }
    }

    /// Later blocks wait for a block that is retried.
    pub(crate) fn of_retry(self) -> Self {
        match self {
            Self::Ahead => Self::Block,
            lane => lane,
        }
    }
}
