//! Shares of holders in the supply of a token.

use domain::{Balance, Coverage, Holder, Token};

use crate::{
    names::Names,
    view::{Axes, Chart, sanitize_name, short},
};

/// Holders in the chart; the others are one bar.
pub(super) const CHARTED: u32 = 10;
/// A percent has this many parts in a share.
const PARTS: u64 = 100;

/// The supply of a token that shares are of. There is none if it is unknown, or less than what holders have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Supply(Balance);

impl Supply {
    /// `lists` are the largest holders and others, each holder at most once in a list.
    pub(super) fn of(token: &Token, coverage: Coverage, lists: [&[Holder]; 2]) -> Option<Self> {
        let supply = token.total_supply(coverage)?;
        let is_consistent = |holders: &&[Holder]| sum(holders).is_some_and(|sum| sum <= supply);
        (!supply.is_zero() && lists.iter().all(is_consistent)).then_some(Self(supply))
    }

    /// In hundredths of a percent, rounded down.
    fn parts(self, balance: Balance) -> Option<u64> {
        let parts = balance.checked_mul(Balance::from(100 * PARTS))?.checked_div(self.0)?;
        u64::try_from(parts).ok()
    }

    /// The percentage, rounded down: shares of a page never add up to more than all.
    pub(super) fn share(self, balance: Balance) -> Option<String> {
        let parts = self.parts(balance)?;
        if parts == 0 && !balance.is_zero() {
            return Some("<0.01 %".to_owned());
        }
        Some(format!("{}.{:02} %", parts / PARTS, parts % PARTS))
    }

    /// The shares of the largest holders, and of all others together.
    pub(super) fn chart(self, largest: &[Holder], names: &Names) -> Option<Chart> {
        let (first, held) = (largest.first()?, sum(largest)?);
        let bar = |name: &str, balance: Balance| {
            Some((self.parts(balance)? as f64, format!("{name}: {}", self.share(balance)?)))
        };
        let holder = |(rank, holder): (usize, &Holder)| {
            let name = names.label(&holder.address).as_deref().map(sanitize_name);
            let name = name.unwrap_or_else(|| short(&holder.address.to_checksum(None)));
            bar(&format!("{}. {name}", rank + 1), holder.balance)
        };
        let mut bars = largest.iter().enumerate().map(holder).collect::<Option<Vec<_>>>()?;
        let others = self.0.checked_sub(held)?;
        let highest = self.share(first.balance.max(others))?;
        let mut last = bars.len().to_string();
        if !others.is_zero() {
            bars.push(bar("All others", others)?);
            last = "all others".to_owned();
        }
        let range = format!("{} of the supply in {} addresses", self.share(held)?, largest.len());
        let axes = Axes { highest, first: "1".to_owned(), last };
        Some(Chart::new("Largest holders", range, bars).with_axes(axes))
    }
}

fn sum(holders: &[Holder]) -> Option<Balance> {
    holders.iter().try_fold(Balance::ZERO, |sum, holder| sum.checked_add(holder.balance))
}

#[cfg(test)]
mod tests {
    use domain::{Address, BalanceSource, TokenKind, TokenMetadata, U256};

    use super::*;

    fn token(supply: u64) -> Token {
        Token {
            address: Address::repeat_byte(1),
            kind: TokenKind::Bep20,
            metadata: TokenMetadata {
                total_supply: Some(U256::from(supply)),
                requested_at: Some(1),
                ..TokenMetadata::default()
            },
            holder_count: 0,
            transfer_count: 0,
            held: Balance::ZERO,
            balance_source: BalanceSource::Events,
            audited_block: None,
        }
    }

    fn holders(balances: &[u64]) -> Vec<Holder> {
        let holder = |(number, balance): (u8, &u64)| Holder {
            address: Address::repeat_byte(number),
            balance: Balance::from(*balance),
        };
        (1..).zip(balances).map(holder).collect()
    }

    fn of(supply: u64, lists: [&[Holder]; 2]) -> Option<Supply> {
        Supply::of(&token(supply), Coverage::default(), lists)
    }

    fn share(balance: u64, supply: u64) -> String {
        of(supply, [&[], &[]]).unwrap().share(Balance::from(balance)).unwrap()
    }

    #[test]
    fn a_share_is_a_percentage_rounded_down() {
        assert_eq!(share(1, 3), "33.33 %");
        assert_eq!(share(2, 3), "66.66 %");
        assert_eq!(share(3, 3), "100.00 %");
        assert_eq!(share(999_999, 1_000_000), "99.99 %");
    }

    #[test]
    fn a_small_share_is_not_nothing() {
        assert_eq!(share(1, 1_000_000), "<0.01 %");
        assert_eq!(share(100, 1_000_000), "0.01 %");
        assert_eq!(share(0, 1_000_000), "0.00 %");
    }

    #[test]
    fn there_are_no_shares_of_an_implausible_supply() {
        assert!(of(0, [&[], &[]]).is_none());
        assert!(of(9, [&holders(&[6, 4]), &[]]).is_none());
        assert!(of(9, [&[], &holders(&[6, 4])]).is_none());
        assert!(of(10, [&holders(&[6, 4]), &holders(&[6, 4])]).is_some());
        let most = Holder { address: Address::ZERO, balance: Balance::MAX };
        assert!(of(9, [&[most, most], &[]]).is_none());
    }
}
