use domain::Address;

/// What an address is to an entry of its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    Any,
    Sender,
    Receiver,
    Both,
}

/// The combined conditions on sender and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parties {
    Any,
    Impossible,
    One(Address, Party),
    Pair { from: Address, to: Address },
}

impl Parties {
    #[must_use]
    pub fn of(address: Option<Address>, from: Option<Address>, to: Option<Address>) -> Self {
        match (address, from, to) {
            (None, None, None) => Self::Any,
            (Some(address), None, None) => Self::One(address, Party::Any),
            (None, Some(from), None) => Self::One(from, Party::Sender),
            (None, None, Some(to)) => Self::One(to, Party::Receiver),
            (None, Some(from), Some(to)) => Self::pair(from, to),
            (Some(address), Some(from), None) if address == from => Self::One(from, Party::Sender),
            (Some(address), Some(from), None) => Self::pair(from, address),
            (Some(address), None, Some(to)) if address == to => Self::One(to, Party::Receiver),
            (Some(address), None, Some(to)) => Self::pair(address, to),
            (Some(address), Some(from), Some(to)) if address == from || address == to => Self::pair(from, to),
            (Some(_), Some(_), Some(_)) => Self::Impossible,
        }
    }

    fn pair(from: Address, to: Address) -> Self {
        if from == to { Self::One(from, Party::Both) } else { Self::Pair { from, to } }
    }

    /// The addresses in whose lists an entry must be, and as what; None if no entry can be.
    #[must_use]
    pub fn required(self) -> Option<Vec<(Address, Party)>> {
        match self {
            Self::Any => Some(Vec::new()),
            Self::Impossible => None,
            Self::One(address, party) => Some(vec![(address, party)]),
            Self::Pair { from, to } => Some(vec![(from, Party::Sender), (to, Party::Receiver)]),
        }
    }
}
