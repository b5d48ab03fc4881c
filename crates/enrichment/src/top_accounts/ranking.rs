//! The largest of many accounts, without keeping all of them.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use domain::{Address, U256};

/// A larger balance ranks higher, then a lower address, so that no two accounts have the same rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    balance: U256,
    address: Reverse<Address>,
}

/// Keeps the highest of the accounts that it was told about.
///
/// It is a prefix of the order of all of them: an account that is not kept has no balance, or ranks no higher than the floor,
/// and all that are kept rank higher. The prefix gets shorter when kept accounts become poorer than the floor.
#[derive(Debug, Clone)]
pub(super) struct Ranking {
    capacity: usize,
    order: BTreeSet<Rank>,
    balances: HashMap<Address, U256>,
    /// The highest rank that was dropped for lack of space.
    floor: Option<Rank>,
}

impl Ranking {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, order: BTreeSet::new(), balances: HashMap::new(), floor: None }
    }

    /// Sets the balance of an account, which may have had another one before.
    pub(super) fn set(&mut self, address: Address, balance: U256) {
        let rank = |balance| Rank { balance, address: Reverse(address) };
        if let Some(before) = self.balances.remove(&address) {
            self.order.remove(&rank(before));
        }
        let rank = rank(balance);
        if balance.is_zero() || self.floor.is_some_and(|floor| rank <= floor) {
            return;
        }
        self.order.insert(rank);
        self.balances.insert(address, balance);
        if self.order.len() > self.capacity
            && let Some(lowest) = self.order.pop_first()
        {
            self.balances.remove(&lowest.address.0);
            self.floor = Some(lowest);
        }
    }

    /// The kept accounts, the largest first.
    pub(super) fn accounts(&self) -> impl Iterator<Item = (Address, U256)> {
        self.order.iter().rev().map(|rank| (rank.address.0, rank.balance))
    }

    /// Whether fewer accounts than these are kept, although there are others with a balance.
    pub(super) fn is_shorter_than(&self, accounts: usize) -> bool {
        self.floor.is_some() && self.order.len() < accounts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn account(number: u8) -> Address {
        Address::repeat_byte(number)
    }

    fn kept(ranking: &Ranking) -> Vec<(Address, U256)> {
        ranking.accounts().collect()
    }

    /// By sorting all accounts that have a balance.
    fn sorted(balances: &BTreeMap<Address, U256>) -> Vec<(Address, U256)> {
        let mut sorted: Vec<_> = balances.iter().map(|(address, balance)| (*address, *balance)).collect();
        sorted.retain(|(_, balance)| !balance.is_zero());
        sorted.sort_by_key(|(address, balance)| (Reverse(*balance), *address));
        sorted
    }

    proptest! {
        #[test]
        fn what_is_kept_is_the_beginning_of_the_order_of_all(
            capacity in 1_usize..12,
            changes in prop::collection::vec((any::<u8>(), 0_u64..20), 0..300),
        ) {
            let (mut ranking, mut all) = (Ranking::new(capacity), BTreeMap::new());
            for (number, balance) in changes {
                ranking.set(account(number), U256::from(balance));
                all.insert(account(number), U256::from(balance));
                let (kept, sorted) = (kept(&ranking), sorted(&all));
                prop_assert!(kept.len() <= capacity);
                prop_assert_eq!(&kept[..], &sorted[..kept.len()]);
                // Nothing is missing unless something was dropped.
                prop_assert!(kept.len() == sorted.len() || ranking.floor.is_some());
                prop_assert_eq!(ranking.is_shorter_than(capacity), kept.len() < capacity && ranking.floor.is_some());
            }
        }

        #[test]
        fn a_single_pass_keeps_as_many_as_fit(
            capacity in 1_usize..12,
            balances in prop::collection::btree_map(any::<u8>(), 0_u64..20, 0..60),
        ) {
            let all: BTreeMap<_, _> =
                balances.into_iter().map(|(number, balance)| (account(number), U256::from(balance))).collect();
            let mut ranking = Ranking::new(capacity);
            all.iter().for_each(|(address, balance)| ranking.set(*address, *balance));
            let expected: Vec<_> = sorted(&all).into_iter().take(capacity).collect();
            prop_assert_eq!(kept(&ranking), expected);
            prop_assert!(!ranking.is_shorter_than(capacity));
        }
    }

    #[test]
    fn accounts_of_equal_balance_are_kept_by_address() {
        let mut ranking = Ranking::new(2);
        for number in [5, 3, 9, 1] {
            ranking.set(account(number), U256::from(7));
        }
        assert_eq!(kept(&ranking), [(account(1), U256::from(7)), (account(3), U256::from(7))]);
    }

    #[test]
    fn an_account_below_the_floor_leaves_a_gap_that_only_another_pass_fills() {
        let mut ranking = Ranking::new(2);
        for (number, balance) in [(1, 30), (2, 20), (3, 10)] {
            ranking.set(account(number), U256::from(balance));
        }
        ranking.set(account(2), U256::from(5));
        assert_eq!(kept(&ranking), [(account(1), U256::from(30))], "the account with 10 is not known any more");
        assert!(ranking.is_shorter_than(2) && !ranking.is_shorter_than(1));
        ranking.set(account(3), U256::from(11));
        assert_eq!(kept(&ranking).len(), 2, "it was read again");
    }
}
