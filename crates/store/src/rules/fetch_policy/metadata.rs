//! When a token's metadata (name, symbol, decimals, supply) is fetched again.

use domain::{Address, BlockNumber, TransferEvent};

/// An active token is fetched again when its metadata is this many blocks old: some hours on most chains.
const METADATA_AGE: u64 = 10_000;

/// At least one in this many tokens of a round is a refresh, however many new tokens there are.
const REFRESH_SHARE: usize = 4;

/// Whether a transfer changes the token's supply: a mint or a burn. A deposit to or withdrawal from a wrapper does too.
#[must_use]
pub fn changes_supply(event: &TransferEvent) -> bool {
    event.from == Address::ZERO || event.to == Address::ZERO
}

/// Whether the metadata of a token that moved up to the tip has to be fetched again because of its age. None: the block
/// at which it was fetched is unknown.
#[must_use]
pub fn is_metadata_old(fetched_at: Option<BlockNumber>, tip: BlockNumber) -> bool {
    fetched_at.is_none_or(|fetched_at| fetched_at.saturating_add(METADATA_AGE) <= tip)
}

/// The tokens to fetch together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRound<Id> {
    pub new: Vec<Id>,
    /// Tokens whose metadata is fetched again.
    pub refreshes: Vec<Id>,
}

/// Shares a round of up to `limit` tokens between new ones, which are sorted, and refreshes, so that neither starve. A
/// store lists up to `limit` of each, and continues with the refreshes after those of the round before.
#[must_use]
pub fn share_round<Id: Ord>(mut new: Vec<Id>, mut refreshes: Vec<Id>, limit: usize) -> TokenRound<Id> {
    refreshes.retain(|id| new.binary_search(id).is_err());
    refreshes.truncate((limit / REFRESH_SHARE).max(limit.saturating_sub(new.len())));
    new.truncate(limit - refreshes.len());
    TokenRound { new, refreshes }
}

#[cfg(test)]
mod tests {
    use domain::{TokenKind, U256};

    use super::*;

    #[test]
    fn mints_and_burns_change_the_supply() {
        let changes = |from, to| {
            changes_supply(&TransferEvent {
                tx_index: 0,
                log_index: 0,
                batch_index: 0,
                token: Address::repeat_byte(1),
                kind: TokenKind::Bep20,
                from,
                to,
                value: U256::from(1),
                token_id: None,
            })
        };
        let (alice, bob) = (Address::repeat_byte(2), Address::repeat_byte(3));
        assert!(changes(Address::ZERO, alice) && changes(alice, Address::ZERO));
        assert!(!changes(alice, bob));
    }

    #[test]
    fn metadata_is_old_after_ten_thousand_blocks() {
        assert!(!is_metadata_old(Some(5), 10_004));
        assert!(is_metadata_old(Some(5), 10_005));
        assert!(is_metadata_old(None, 0));
        assert!(!is_metadata_old(Some(u64::MAX), 7), "without an overflow");
    }

    #[test]
    fn a_round_has_both_kinds_if_both_wait() {
        let round = share_round((0..100).collect(), (100..200).collect(), 8);
        assert_eq!(round, TokenRound { new: (0..6).collect(), refreshes: vec![100, 101] });
    }

    #[test]
    fn a_round_is_filled_with_the_kind_that_waits() {
        assert_eq!(share_round(vec![], (1..20).collect(), 4), TokenRound { new: vec![], refreshes: vec![1, 2, 3, 4] });
        assert_eq!(share_round(vec![7], (1..20).collect(), 4), TokenRound { new: vec![7], refreshes: vec![1, 2, 3] });
        assert_eq!(share_round(vec![1, 2, 3, 4], vec![], 4), TokenRound { new: vec![1, 2, 3, 4], refreshes: vec![] });
        assert_eq!(share_round(vec![1], vec![2], usize::MAX), TokenRound { new: vec![1], refreshes: vec![2] });
    }

    #[test]
    fn a_new_token_that_is_also_a_refresh_is_fetched_once() {
        assert_eq!(share_round(vec![1, 3], vec![1, 2, 3], 8), TokenRound { new: vec![1, 3], refreshes: vec![2] });
    }
}
