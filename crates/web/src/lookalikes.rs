//! Transfers of nothing or next to nothing from or to an address that looks like a counterparty of the account: its first and last
//! digits are the same. They are sent so that the account copies the wrong address from its history.

use std::collections::HashMap;

use domain::{Address, Balance, Transfer, U256};

/// Hexadecimal digits at either end that wallets and lists show, and that an imitation has the same.
const SAME_DIGITS: usize = 4;
/// A transfer of less than this part of what the imitated address got is next to nothing.
const DUST: u64 = 100;

/// An entry of the history of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HistoryEntry {
    /// The other address.
    pub(crate) counterparty: Address,
    /// None for the chain's coin.
    pub(crate) token: Option<Address>,
    pub(crate) value: U256,
    /// Time of the block.
    pub(crate) time: u64,
}

impl HistoryEntry {
    /// None for a transfer of the account to itself.
    pub(crate) fn of(transfer: &Transfer, account: Address) -> Option<Self> {
        let event = &transfer.event;
        let counterparty = if event.from == account { event.to } else { event.from };
        let entry = Self { counterparty, token: Some(event.token), value: event.value, time: transfer.timestamp };
        (counterparty != account && !counterparty.is_zero()).then_some(entry)
    }
}

/// The counterparties of an account, by their first and last digits.
#[derive(Debug, Default)]
pub(crate) struct Counterparties(HashMap<String, Vec<Counterparty>>);

#[derive(Debug)]
struct Counterparty {
    address: Address,
    /// When something of value first moved.
    since: u64,
    /// The largest amounts that moved.
    largest: HashMap<Option<Address>, U256>,
}

/// What is suspicious about a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lookalike {
    /// The counterparty that looks the same.
    pub(crate) of: Address,
    /// Whether nothing or next to nothing moved, so that the entry is of no use.
    pub(crate) is_dust: bool,
}

impl Counterparties {
    /// From entries of the history, in any order.
    pub(crate) fn of(history: impl IntoIterator<Item = HistoryEntry>) -> Self {
        let mut found: HashMap<String, Vec<Counterparty>> = HashMap::new();
        for entry in history.into_iter().filter(|entry| !entry.value.is_zero()) {
            let alike = found.entry(ends(entry.counterparty)).or_default();
            let known = match alike.iter().position(|known| known.address == entry.counterparty) {
                Some(place) => alike.get_mut(place),
                None => {
                    alike.push(Counterparty {
                        address: entry.counterparty,
                        since: entry.time,
                        largest: HashMap::new(),
                    });
                    alike.last_mut()
                }
            };
            if let Some(known) = known {
                known.since = known.since.min(entry.time);
                let largest = known.largest.entry(entry.token).or_default();
                *largest = (*largest).max(entry.value);
            }
        }
        Self(found)
    }

    /// Whether an entry is with an address that looks like a counterparty that came first. `is_fake` says that the token imitates
    /// another one, and so is worth nothing.
    pub(crate) fn find(&self, entry: &HistoryEntry, is_fake: bool) -> Option<Lookalike> {
        let alike = self.0.get(&ends(entry.counterparty))?;
        let own = alike.iter().find(|known| known.address == entry.counterparty);
        let others = alike.iter().filter(|known| known.address != entry.counterparty);
        let earlier =
            others.filter(|other| own.is_none_or(|own| other.since <= own.since || is_next_to_nothing(own, other)));
        let imitated = earlier.max_by_key(|other| other.largest.get(&entry.token).copied().unwrap_or_default())?;
        let is_dust = is_fake || is_dust(entry.value, imitated.largest.get(&entry.token).copied());
        Some(Lookalike { of: imitated.address, is_dust })
    }
}

/// Whether all that moved with one address is dust beside what moved with another one.
fn is_next_to_nothing(own: &Counterparty, other: &Counterparty) -> bool {
    own.largest.iter().all(|(token, value)| is_dust(*value, other.largest.get(token).copied()))
}

fn is_dust(value: U256, beside: Option<U256>) -> bool {
    let many = Balance::from(value) * Balance::from(DUST);
    value.is_zero() || beside.is_some_and(|beside| many <= Balance::from(beside))
}

fn ends(address: Address) -> String {
    let digits = alloy_primitives::hex::encode(address);
    let last = digits.len() - SAME_DIGITS;
    format!("{}{}", digits.get(..SAME_DIGITS).unwrap_or_default(), digits.get(last..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;

    use super::*;

    const FRIEND: Address = address!("12345678000000000000000000000000deadbeef");
    const IMITATION: Address = address!("1234ffffffffffffffffffffffffffffffffbeef");
    const OTHER: Address = address!("9934567800000000000000000000000000000011");
    const COIN: Option<Address> = Some(Address::repeat_byte(0xcc));

    fn entry(counterparty: Address, value: u64, time: u64) -> HistoryEntry {
        HistoryEntry { counterparty, token: COIN, value: U256::from(value), time }
    }

    fn found(history: &[HistoryEntry], wanted: &HistoryEntry) -> Option<(Address, bool)> {
        let found = Counterparties::of(history.iter().copied()).find(wanted, false)?;
        Some((found.of, found.is_dust))
    }

    #[test]
    fn nothing_from_an_address_with_the_ends_of_a_counterparty_imitates_it() {
        let zero = entry(IMITATION, 0, 20);
        let history = [entry(FRIEND, 5_000, 10), entry(OTHER, 9, 11), zero];
        assert_eq!(found(&history, &zero), Some((FRIEND, true)));
        let dust = entry(IMITATION, 50, 20);
        assert_eq!(found(&[entry(FRIEND, 5_000, 10), dust], &dust), Some((FRIEND, true)));
        // Dust that came before the first payment.
        let early = entry(IMITATION, 1, 5);
        assert_eq!(found(&[entry(FRIEND, 5_000, 10), early], &early), Some((FRIEND, true)));
    }

    #[test]
    fn the_counterparty_itself_and_others_are_not_suspicious() {
        let history = [entry(FRIEND, 5_000, 10), entry(FRIEND, 0, 11), entry(OTHER, 0, 12), entry(IMITATION, 0, 20)];
        for entry in &history[..3] {
            assert_eq!(found(&history, entry), None, "{entry:?}");
        }
        assert_eq!(found(&history[2..], &history[3]), None, "nobody is imitated");
    }

    #[test]
    fn a_payment_to_the_imitation_is_told_and_is_not_dust() {
        let paid = entry(IMITATION, 4_000, 30);
        let history = [entry(FRIEND, 5_000, 10), entry(IMITATION, 0, 20), paid];
        assert_eq!(found(&history, &paid), Some((FRIEND, false)));
        assert_eq!(found(&history, &history[0]), None);
        let fake = Counterparties::of(history).find(&paid, true).unwrap();
        assert!(fake.is_dust, "a token that imitates another one");
    }

    #[test]
    fn the_largest_amount_does_not_overflow() {
        let all = HistoryEntry { value: U256::MAX, ..entry(FRIEND, 0, 10) };
        let most = HistoryEntry { value: U256::MAX / U256::from(2), ..entry(IMITATION, 0, 20) };
        assert_eq!(found(&[all, most], &most), Some((FRIEND, false)));
    }
}
