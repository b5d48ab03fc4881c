//! When data is fetched from contracts: the rules that every store applies as it commits and reverts blocks and stores
//! what was fetched. They are pure functions; a store only keeps their inputs.
//!
//! Data is *pending* since a block: the newest one that may have changed it.

mod audits;
mod balances;
mod codes;
mod metadata;

use domain::BlockNumber;

pub use self::{
    audits::{AuditCandidate, audit_sample, is_audit_due, merge_audits},
    balances::{
        Refetch, balance_source, has_contract_balance, needs_sweep, refetch_after_move, source_after_overdraft,
    },
    codes::{CodeEvent, KnownCode, is_code_pending},
    metadata::{TokenRound, changes_supply, is_metadata_old, share_round},
};

/// Whether data fetched at a block is no longer pending. The block since which it was pending may have been reverted in
/// the meantime; then the tip is the newest block that can have changed it.
#[must_use]
pub fn is_up_to_date(fetched_at: BlockNumber, pending_since: BlockNumber, tip: BlockNumber) -> bool {
    fetched_at >= pending_since.min(tip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_fetched_before_the_newest_change_stays_pending() {
        assert!(is_up_to_date(7, 7, 9));
        assert!(!is_up_to_date(6, 7, 9));
    }

    #[test]
    fn after_a_revert_data_of_the_tip_is_up_to_date() {
        assert!(is_up_to_date(5, 7, 5));
        assert!(!is_up_to_date(4, 7, 5));
    }
}
