crate::all_variants! {
    /// The kind of an event.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EventKind {
        /// The watched address sent or received a transaction.
        Tx,
        /// The watched address sent or received a token, or is the token.
        TokenTransfer,
        /// The watched address sent or received native coins inside a transaction.
        Internal,
        /// The block of an earlier event was orphaned by a reorg.
        Removed,
        /// A test that the owner requested.
        Ping,
    }
}

impl EventKind {
    /// Whether a message of this kind is retracted when its block is orphaned.
    #[must_use]
    pub fn depends_on_block(self) -> bool {
        match self {
            Self::Tx | Self::TokenTransfer | Self::Internal => true,
            Self::Removed | Self::Ping => false,
        }
    }

    /// The name in messages, their headers and the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tx => "tx",
            Self::TokenTransfer => "token_transfer",
            Self::Internal => "internal",
            Self::Removed => "removed",
            Self::Ping => "ping",
        }
    }

    /// The name on pages.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Tx => "Transactions",
            Self::TokenTransfer => "Token transfers",
            Self::Internal => "Payments inside transactions",
            Self::Removed => "Reverted events (reorgs)",
            Self::Ping => "Tests",
        }
    }

    /// The kinds that a webhook can subscribe to: a ping is sent whatever its subscription.
    pub fn subscribable() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| *kind != Self::Ping)
    }

    pub(crate) fn bit(self) -> u8 {
        match self {
            Self::Tx => 1,
            Self::TokenTransfer => 2,
            Self::Removed => 4,
            Self::Ping => 8,
            Self::Internal => 16,
        }
    }
}

/// The kinds of events that a webhook subscribes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventKinds(u8);

impl EventKinds {
    #[must_use]
    pub fn contains(self, kind: EventKind) -> bool {
        self.0 & kind.bit() != 0
    }

    #[must_use]
    pub fn with(self, kind: EventKind) -> Self {
        Self(self.0 | kind.bit())
    }

    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// None if a bit is that of no kind.
    #[must_use]
    pub fn from_bits(bits: u8) -> Option<Self> {
        let known = EventKind::ALL.into_iter().collect::<Self>();
        (bits & !known.0 == 0).then_some(Self(bits))
    }

    /// The kind, if it is the only one.
    #[must_use]
    pub fn only(self) -> Option<EventKind> {
        self.iter().next().filter(|kind| kind.bit() == self.0)
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = EventKind> {
        EventKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<EventKind> for EventKinds {
    fn from_iter<I: IntoIterator<Item = EventKind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_kinds_round_trip() {
        let kinds: EventKinds = [EventKind::TokenTransfer, EventKind::Removed].into_iter().collect();
        assert!(kinds.contains(EventKind::Removed) && !kinds.contains(EventKind::Tx));
        assert_eq!(kinds.iter().collect::<Vec<_>>(), [EventKind::TokenTransfer, EventKind::Removed]);
        assert_eq!(EventKinds::from_bits(kinds.bits()), Some(kinds));
    }

    #[test]
    fn bits_of_no_kind_are_refused() {
        let all: EventKinds = EventKind::ALL.into_iter().collect();
        assert_eq!(EventKinds::from_bits(all.bits()), Some(all));
        for bit in 0..u8::BITS {
            let known = all.bits() & 1 << bit != 0;
            assert_eq!(EventKinds::from_bits(1 << bit).is_some(), known, "bit {bit}");
        }
        assert_eq!(EventKinds::from_bits(u8::MAX), None);
    }

    #[test]
    fn several_kinds_are_not_the_only_one() {
        for kind in EventKind::ALL {
            assert_eq!(EventKinds::default().with(kind).only(), Some(kind));
        }
        assert_eq!(EventKinds::default().with(EventKind::Tx).with(EventKind::Ping).only(), None);
        assert_eq!(EventKinds::default().only(), None);
    }
}
