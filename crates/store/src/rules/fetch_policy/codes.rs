//! When the code at an address is fetched.

/// Something in a block that affects the code at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeEvent {
    /// A contract was created there.
    Created,
    /// Code ran there: it emitted a log, or was involved in a creation.
    Ran,
    /// It was called as if it had code.
    Called,
    /// A block that ran or called code there was reverted.
    Reverted,
}

/// What is known about the code at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownCode {
    /// It was never fetched. If it ran or was called, it is pending.
    NotFetched,
    /// There was none when it was fetched.
    Empty,
    Contract,
}

/// Whether the code has to be fetched.
#[must_use]
pub fn is_code_pending(event: CodeEvent, known: KnownCode) -> bool {
    match event {
        // Contracts can be destroyed and created again with other code.
        CodeEvent::Created => true,
        CodeEvent::Ran => known != KnownCode::Contract,
        // Calls to addresses without code are frequent.
        CodeEvent::Called => known == KnownCode::NotFetched,
        CodeEvent::Reverted => known != KnownCode::NotFetched,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_fetches_only_code_that_may_be_unknown() {
        for (event, not_fetched, empty, contract) in [
            (CodeEvent::Created, true, true, true),
            (CodeEvent::Ran, true, true, false),
            (CodeEvent::Called, true, false, false),
            (CodeEvent::Reverted, false, true, true),
        ] {
            assert_eq!(is_code_pending(event, KnownCode::NotFetched), not_fetched, "{event:?}");
            assert_eq!(is_code_pending(event, KnownCode::Empty), empty, "{event:?}");
            assert_eq!(is_code_pending(event, KnownCode::Contract), contract, "{event:?}");
        }
    }
}
