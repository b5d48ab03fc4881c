//! What a transfer does to balances, and what balances say about a token.

use domain::{Balance, TokenKind};

use crate::StoreError;

/// A change of a balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BalanceChange {
    pub before: Balance,
    pub now: Balance,
    /// The part of a sent value that the sender did not have.
    pub shortfall: Option<Balance>,
}

impl BalanceChange {
    /// A sender that has less than it sends is left with zero.
    #[must_use]
    pub fn send(before: Balance, value: Balance) -> Self {
        let shortfall = value.checked_sub(before).filter(|missing| !missing.is_zero());
        Self { before, now: before.saturating_sub(value), shortfall }
    }

    /// Sums are below 2^320, since each of fewer than 2^64 transfers adds less than 2^256.
    #[must_use]
    pub fn receive(before: Balance, value: Balance) -> Self {
        Self { before, now: before.saturating_add(value), shortfall: None }
    }
}

/// What the transfers of a token say about it, as a store has it while a transfer changes it.
pub trait TokenState {
    fn kind(&self) -> TokenKind;

    /// Addresses with a balance above zero.
    fn holders_mut(&mut self) -> &mut u64;

    /// What all holders have together.
    fn held_mut(&mut self) -> &mut Balance;

    /// A holder sent more than it had.
    fn note_overdraft(&mut self);
}

/// Counts a changed balance of a token.
///
/// # Errors
/// If holders had more than all of the token, or if there were more than it counts.
pub fn count_balance(token: &mut impl TokenState, before: Balance, now: Balance) -> Result<(), StoreError> {
    let holders = token.holders_mut();
    let (new, gone) = (before.is_zero() && !now.is_zero(), !before.is_zero() && now.is_zero());
    let changed = holders.checked_add(new.into()).and_then(|holders| holders.checked_sub(gone.into()));
    *holders = changed.ok_or(StoreError::Corrupt("a token with more holders than it counts"))?;
    match token.kind() {
        TokenKind::Bep20 => count_amount(token, before, now),
        // What holders have follows from its ids.
        TokenKind::Bep721 | TokenKind::Bep1155 => Ok(()),
    }
}

/// Counts a changed part of what holders have.
///
/// # Errors
/// If holders had more than all of the token.
pub fn count_amount(token: &mut impl TokenState, before: Balance, now: Balance) -> Result<(), StoreError> {
    let held = token.held_mut();
    let changed = held.checked_add(now).and_then(|held| held.checked_sub(before));
    *held = changed.ok_or(StoreError::Corrupt("holders that have more than all of a token"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Token {
        kind: TokenKind,
        holders: u64,
        held: Balance,
    }

    impl TokenState for Token {
        fn kind(&self) -> TokenKind {
            self.kind
        }

        fn holders_mut(&mut self) -> &mut u64 {
            &mut self.holders
        }

        fn held_mut(&mut self) -> &mut Balance {
            &mut self.held
        }

        fn note_overdraft(&mut self) {}
    }

    fn units(units: u64) -> Balance {
        Balance::from(units)
    }

    #[test]
    fn a_sender_that_has_less_than_it_sends_is_left_with_zero() {
        assert_eq!(BalanceChange::send(units(5), units(5)).shortfall, None);
        let overdrawn = BalanceChange::send(units(5), units(7));
        assert_eq!((overdrawn.now, overdrawn.shortfall), (Balance::ZERO, Some(units(2))));
    }

    #[test]
    fn holders_are_those_with_a_balance() {
        let mut token = Token { kind: TokenKind::Bep20, holders: 0, held: Balance::ZERO };
        count_balance(&mut token, Balance::ZERO, units(9)).unwrap();
        count_balance(&mut token, units(9), units(4)).unwrap();
        assert_eq!((token.holders, token.held), (1, units(4)));
        count_balance(&mut token, units(4), Balance::ZERO).unwrap();
        assert_eq!((token.holders, token.held), (0, Balance::ZERO));
        assert!(count_balance(&mut token, units(1), units(1)).is_ok());
        assert!(count_amount(&mut token, units(1), Balance::ZERO).is_err(), "more than all of it");
    }

    #[test]
    fn a_holder_that_was_not_counted_is_damage() {
        let mut token = Token { kind: TokenKind::Bep721, holders: 0, held: Balance::ZERO };
        let gone = count_balance(&mut token, units(4), Balance::ZERO);
        assert!(matches!(gone, Err(StoreError::Corrupt(_))), "{gone:?}");
        assert_eq!(token.holders, 0);
    }

    #[test]
    fn what_holders_of_ids_have_does_not_follow_from_balances() {
        let mut token = Token { kind: TokenKind::Bep721, holders: 0, held: Balance::ZERO };
        count_balance(&mut token, Balance::ZERO, units(1)).unwrap();
        assert_eq!((token.holders, token.held), (1, Balance::ZERO));
    }
}
