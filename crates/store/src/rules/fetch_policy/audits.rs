//! When balances summed from events are compared with the contract, and for which holders.

use std::collections::BTreeSet;

use domain::{AuditResult, BalanceSource, BlockNumber, TokenKind};

use super::has_contract_balance;

/// An audit compares the parties of this many of the newest transfers ...
const NEWEST_TRANSFERS: u64 = 4;
/// ... and of this many of the oldest.
const OLDEST_TRANSFERS: u64 = 2;
/// A token with up to this many transfers is audited at every block that moves it. Beyond, each time they have doubled
/// ...
const FIRST_TRANSFERS: u64 = 16;
/// ... and at one in this many of the blocks that move it.
const SPOT_CHECK: u64 = 64;

/// A token that a block moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditCandidate {
    /// A number that identifies the token, so that spot checks of different tokens fall on different blocks.
    pub token: u64,
    pub kind: TokenKind,
    pub balance_source: BalanceSource,
    /// Transfers of the token so far.
    pub transfers: u64,
    /// Transfers at its last audit; None if it was never audited.
    pub audited_transfers: Option<u64>,
}

/// Whether to audit a token that moved up to a block: at first always, then each time its transfers have doubled, and at
/// random blocks.
#[must_use]
pub fn is_audit_due(candidate: &AuditCandidate, block: BlockNumber) -> bool {
    let AuditCandidate { token, kind, balance_source, transfers, audited_transfers } = *candidate;
    let can_differ = has_contract_balance(kind) && balance_source == BalanceSource::Events;
    let is_new = transfers <= FIRST_TRANSFERS;
    let doubled = audited_transfers.is_none_or(|audited| transfers >= audited.saturating_mul(2));
    let spot_check = (token ^ block).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (SPOT_CHECK - 1) == 0;
    can_differ && (is_new || doubled || spot_check)
}

/// The transfers of a token, numbered from 0, whose parties are compared: the oldest and the newest.
#[must_use]
pub fn audit_sample(transfers: u64) -> BTreeSet<u64> {
    let newest = transfers.saturating_sub(NEWEST_TRANSFERS)..transfers;
    (0..OLDEST_TRANSFERS.min(transfers)).chain(newest).collect()
}

/// The result to store after another audit. A failed audit is permanent, since a later sample may match by chance.
#[must_use]
pub fn merge_audits(known: Option<AuditResult>, latest: AuditResult) -> AuditResult {
    match known {
        Some(AuditResult::DoesNotAddUp) => AuditResult::DoesNotAddUp,
        Some(AuditResult::AddsUp) | None => latest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(transfers: u64, audited_transfers: Option<u64>) -> AuditCandidate {
        AuditCandidate {
            token: 1,
            kind: TokenKind::Bep20,
            balance_source: BalanceSource::Events,
            transfers,
            audited_transfers,
        }
    }

    /// A block without a spot check of token 1.
    fn block_without_spot_check() -> BlockNumber {
        (0..100).find(|block| !is_audit_due(&candidate(17, Some(16)), *block)).unwrap()
    }

    #[test]
    fn a_new_token_is_audited_at_every_block_that_moves_it() {
        let block = block_without_spot_check();
        assert!((1..=16).all(|transfers| is_audit_due(&candidate(transfers, Some(transfers - 1)), block)));
        assert!(!is_audit_due(&candidate(17, Some(16)), block));
    }

    #[test]
    fn a_token_is_audited_each_time_its_transfers_have_doubled() {
        let block = block_without_spot_check();
        assert!(!is_audit_due(&candidate(199, Some(100)), block));
        assert!(is_audit_due(&candidate(200, Some(100)), block));
        assert!(is_audit_due(&candidate(200, None), block), "never audited");
        assert!(!is_audit_due(&candidate(u64::MAX - 1, Some(u64::MAX - 1)), block), "without an overflow");
    }

    #[test]
    fn spot_checks_are_rare_and_differ_between_tokens() {
        let blocks = |token: u64| -> Vec<BlockNumber> {
            let moved = AuditCandidate { token, ..candidate(150, Some(100)) };
            (0..64_000).filter(|block| is_audit_due(&moved, *block)).collect()
        };
        let (first, second) = (blocks(1), blocks(2));
        assert!((800..1_200).contains(&first.len()) && (800..1_200).contains(&second.len()));
        assert_ne!(first, second);
    }

    #[test]
    fn balances_that_cannot_differ_are_not_audited() {
        for (kind, balance_source) in
            [(TokenKind::Bep1155, BalanceSource::Events), (TokenKind::Bep20, BalanceSource::Calls)]
        {
            assert!(!is_audit_due(&AuditCandidate { kind, balance_source, ..candidate(1, None) }, 0));
        }
        assert!(is_audit_due(&AuditCandidate { kind: TokenKind::Bep721, ..candidate(1, None) }, 0));
    }

    #[test]
    fn the_oldest_and_the_newest_transfers_are_sampled_once_each() {
        let sample = |transfers| audit_sample(transfers).into_iter().collect::<Vec<_>>();
        assert_eq!(sample(0), [] as [u64; 0]);
        assert_eq!(sample(1), [0]);
        assert_eq!(sample(5), [0, 1, 2, 3, 4]);
        assert_eq!(sample(100), [0, 1, 96, 97, 98, 99]);
    }

    #[test]
    fn a_failed_audit_is_permanent() {
        use AuditResult::{AddsUp, DoesNotAddUp};
        for (known, latest, merged) in [
            (None, AddsUp, AddsUp),
            (None, DoesNotAddUp, DoesNotAddUp),
            (Some(AddsUp), DoesNotAddUp, DoesNotAddUp),
            (Some(AddsUp), AddsUp, AddsUp),
            (Some(DoesNotAddUp), AddsUp, DoesNotAddUp),
        ] {
            assert_eq!(merge_audits(known, latest), merged, "{known:?}, then {latest:?}");
        }
    }
}
