//! Which tokens have their balances fetched from the contract, and which balances are fetched again.

use domain::{AuditResult, BalanceSource, TokenKind};

/// If events do not show whose balance changes, any may have. Up to this many holders, all balances are fetched
/// whenever the token moves ...
const ALL_HOLDERS: u64 = 64;
/// ... beyond, those of the largest holders.
const LARGEST_HOLDERS: usize = 10;

/// Whether a contract can return the balance of a holder: not over many ids.
#[must_use]
pub fn has_contract_balance(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Bep20 | TokenKind::Bep721 => true,
        TokenKind::Bep1155 => false,
    }
}

/// The source of a token's balances, from the one that its events require and its last audit.
#[must_use]
pub fn balance_source(by_events: BalanceSource, audit: Option<AuditResult>) -> BalanceSource {
    match audit {
        Some(AuditResult::DoesNotAddUp) => BalanceSource::Calls,
        Some(AuditResult::AddsUp) | None => by_events,
    }
}

/// The source after a holder sent more than it ever received according to events: they do not give the balances. If the
/// contract cannot return them either, events are the best available.
#[must_use]
pub fn source_after_overdraft(kind: TokenKind, source: BalanceSource) -> BalanceSource {
    if has_contract_balance(kind) { BalanceSource::Calls } else { source }
}

/// Whether all holders of a token have to be fetched and ranked again, since the source of their balances changed. None:
/// not a token. A new token has no holders yet, except those that events other than transfers touched before.
#[must_use]
pub fn needs_sweep(before: Option<BalanceSource>, now: Option<BalanceSource>) -> bool {
    now.is_some_and(|now| now != before.unwrap_or(BalanceSource::Events))
}

/// Balances to fetch, in addition to those that events touched, of a token whose balances come from calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refetch {
    AllHolders,
    /// This many of the largest holders.
    Largest(usize),
}

/// What else to fetch after such a token moved or a move was reverted. `fetched` is the number of its balances that were
/// fetched so far.
#[must_use]
pub fn refetch_after_move(fetched: u64) -> Refetch {
    if fetched <= ALL_HOLDERS { Refetch::AllHolders } else { Refetch::Largest(LARGEST_HOLDERS) }
}

#[cfg(test)]
mod tests {
    use BalanceSource::{Calls, Events};

    use super::*;

    #[test]
    fn a_failed_audit_changes_the_source() {
        assert_eq!(balance_source(Events, None), Events);
        assert_eq!(balance_source(Events, Some(AuditResult::AddsUp)), Events);
        assert_eq!(balance_source(Events, Some(AuditResult::DoesNotAddUp)), Calls);
        assert_eq!(balance_source(Calls, Some(AuditResult::AddsUp)), Calls);
    }

    #[test]
    fn an_overdraft_changes_the_source_if_the_contract_returns_balances() {
        assert_eq!(source_after_overdraft(TokenKind::Bep20, Events), Calls);
        assert_eq!(source_after_overdraft(TokenKind::Bep721, Events), Calls);
        assert_eq!(source_after_overdraft(TokenKind::Bep1155, Events), Events);
    }

    #[test]
    fn holders_are_swept_when_the_source_changes_in_either_direction() {
        assert!(needs_sweep(Some(Events), Some(Calls)) && needs_sweep(Some(Calls), Some(Events)));
        assert!(!needs_sweep(Some(Calls), Some(Calls)) && !needs_sweep(Some(Events), Some(Events)));
        assert!(needs_sweep(None, Some(Calls)), "events may have touched holders before");
        assert!(!needs_sweep(None, Some(Events)) && !needs_sweep(Some(Calls), None));
    }

    #[test]
    fn all_of_few_holders_are_fetched_and_the_largest_of_many() {
        assert_eq!(refetch_after_move(0), Refetch::AllHolders);
        assert_eq!(refetch_after_move(64), Refetch::AllHolders);
        assert_eq!(refetch_after_move(65), Refetch::Largest(10));
    }
}
