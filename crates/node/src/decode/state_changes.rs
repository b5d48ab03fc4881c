use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IntoDeserializer},
};
use sonic_rs::{JsonValueTrait, LazyValue, to_object_iter};

use super::{
    quantity::{Account20, Hash, HexBytes, Quantity, Wide},
    trace::{json, text},
};
use crate::traced::{AccountChange, Change, SlotChange, StateChanges};

/// Accounts that are kept; the rest is counted.
const MAX_ACCOUNTS: usize = 200;
/// Slots that are kept for one account.
const MAX_SLOTS: usize = 50;

/// The changes of a transaction, from `prestateTracer` in `diffMode`; None from a tracer that does not know this mode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawStateChanges(pub(crate) Option<StateChanges>);

impl<'de> Deserialize<'de> for RawStateChanges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let trace = LazyValue::deserialize(deserializer)?;
        read_changes(trace.as_raw_str()).map(Self).map_err(D::Error::custom)
    }
}

/// The account before and after the transaction, as JSON.
type Sides<'a> = (Option<&'a str>, Option<&'a str>);

fn read_changes(trace: &str) -> Result<Option<StateChanges>, sonic_rs::Error> {
    let mut accounts: BTreeMap<Address, Sides<'_>> = BTreeMap::new();
    let (mut has_before, mut has_after) = (false, false);
    for side in to_object_iter(trace) {
        let (name, side) = side?;
        let is_before = match name.as_ref() {
            "pre" => true,
            "post" => false,
            _ => continue,
        };
        (has_before, has_after) = (has_before || is_before, has_after || !is_before);
        for account in to_object_iter(json(&side)?) {
            let (address, account) = account?;
            let sides = accounts.entry(parse::<Account20>(&address)?.0).or_default();
            *(if is_before { &mut sides.0 } else { &mut sides.1 }) = Some(json(&account)?);
        }
    }
    // Without this mode, the trace is the accounts before the transaction.
    if !(has_before && has_after) {
        return Ok(None);
    }
    let mut changes = StateChanges::default();
    for (address, sides) in accounts {
        if changes.accounts.len() == MAX_ACCOUNTS {
            changes.left_out += 1;
            continue;
        }
        changes.accounts.push(read_account(address, sides)?);
    }
    Ok(Some(changes))
}

/// An account on one side. After the transaction, what did not change is left out.
#[derive(Debug, Default)]
struct AccountSide {
    balance: Option<U256>,
    nonce: Option<u64>,
    /// In bytes.
    code: Option<usize>,
    slots: BTreeMap<B256, B256>,
}

fn read_account(address: Address, (before, after): Sides<'_>) -> Result<AccountChange, sonic_rs::Error> {
    let is_destroyed = after.is_none();
    let (before, after) = (read_side(before)?, read_side(after)?);
    let mut slots = BTreeMap::new();
    for (slot, value) in &before.slots {
        slots.insert(*slot, Change { before: *value, after: B256::ZERO });
    }
    for (slot, value) in &after.slots {
        slots.entry(*slot).or_insert(Change { before: B256::ZERO, after: B256::ZERO }).after = *value;
    }
    let slots_left_out = slots.len().saturating_sub(MAX_SLOTS);
    Ok(AccountChange {
        address,
        balance: change(before.balance, after.balance, is_destroyed),
        nonce: change(before.nonce, after.nonce, is_destroyed),
        code: change(before.code, after.code, is_destroyed),
        slots: slots.into_iter().take(MAX_SLOTS).map(|(slot, value)| SlotChange { slot, value }).collect(),
        slots_left_out,
        is_destroyed,
    })
}

fn change<T: Default + PartialEq>(before: Option<T>, after: Option<T>, is_destroyed: bool) -> Option<Change<T>> {
    let after = if is_destroyed { T::default() } else { after? };
    let before = before.unwrap_or_default();
    (before != after).then_some(Change { before, after })
}

fn read_side(account: Option<&str>) -> Result<AccountSide, sonic_rs::Error> {
    let mut side = AccountSide::default();
    let Some(account) = account else { return Ok(side) };
    for field in to_object_iter(account) {
        let (name, value) = field?;
        if value.is_null() {
            continue;
        }
        match name.as_ref() {
            "balance" => side.balance = Some(text::<Wide>(&value)?.0),
            "nonce" => side.nonce = Some(read_nonce(&value)?),
            "code" => side.code = Some(text::<HexBytes>(&value)?.0.len()),
            "storage" => {
                for slot in to_object_iter(json(&value)?) {
                    let (slot, value) = slot?;
                    side.slots.insert(parse::<Hash>(&slot)?.0, text::<Hash>(&value)?.0);
                }
            }
            _ => {}
        }
    }
    Ok(side)
}

/// Geth sends nonces as numbers, others as quantities.
fn read_nonce(value: &LazyValue<'_>) -> Result<u64, sonic_rs::Error> {
    match value.as_u64() {
        Some(nonce) => Ok(nonce),
        None => Ok(text::<Quantity>(value)?.0),
    }
}

/// A key of an object.
fn parse<'a, T: Deserialize<'a>>(key: &'a str) -> Result<T, sonic_rs::Error> {
    T::deserialize(key.into_deserializer())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    fn word(byte: u8) -> B256 {
        B256::with_last_byte(byte)
    }

    #[test]
    fn what_is_left_out_after_the_transaction_did_not_change() {
        let [payer, token] = [address(0x11), address(0x22)];
        let [one, two, three] = [word(1), word(2), word(3)];
        let trace = format!(
            r#"{{"pre":{{"{payer}":{{"balance":"0x64","nonce":7,"code":"0x6001"}},
                "{token}":{{"balance":"0x5","storage":{{"{one}":"{two}","{three}":"{one}"}}}}}},
               "post":{{"{payer}":{{"balance":"0x32","nonce":8}},
                "{token}":{{"storage":{{"{two}":"{two}","{three}":"{three}"}}}}}}}}"#
        );
        let changes = read_changes(&trace).unwrap().unwrap();
        let [paid, held] = &changes.accounts[..] else { panic!("{changes:?}") };
        assert_eq!(paid.balance, Some(Change { before: U256::from(100), after: U256::from(50) }));
        assert_eq!((paid.nonce, paid.code), (Some(Change { before: 7, after: 8 }), None));
        assert_eq!((held.balance, held.is_destroyed), (None, false));
        let slots: Vec<_> = held.slots.iter().map(|slot| (slot.slot, slot.value.before, slot.value.after)).collect();
        assert_eq!(slots, [(one, two, word(0)), (two, word(0), two), (three, one, three)]);
    }

    #[test]
    fn accounts_appear_and_disappear() {
        let [created, destroyed] = [address(0x11), address(0x22)];
        let trace = format!(
            r#"{{"pre":{{"{destroyed}":{{"balance":"0x9","nonce":"0x1","code":"0x600160"}}}},
               "post":{{"{created}":{{"balance":"0x3","nonce":1,"code":"0x6001"}}}}}}"#
        );
        let changes = read_changes(&trace).unwrap().unwrap();
        let [first, second] = &changes.accounts[..] else { panic!("{changes:?}") };
        assert_eq!((first.code, first.is_destroyed), (Some(Change { before: 0, after: 2 }), false));
        assert_eq!((second.code, second.is_destroyed), (Some(Change { before: 3, after: 0 }), true));
        assert_eq!(second.balance, Some(Change { before: U256::from(9), after: U256::ZERO }));
        assert_eq!(second.nonce, Some(Change { before: 1, after: 0 }));
    }

    #[test]
    fn code_that_cannot_be_read_is_not_empty_code() {
        for code in ["7", "\"6001\"", "\"0x600\""] {
            let trace = format!(r#"{{"pre":{{"{}":{{"balance":"0x1","code":{code}}}}},"post":{{}}}}"#, address(1));
            assert!(read_changes(&trace).is_err(), "{code}");
        }
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let accounts: Vec<String> =
            (0..=255).map(|byte| format!(r#""{}":{{"balance":"0x1"}}"#, address(byte))).collect();
        let slots: Vec<String> = (0..=99).map(|byte| format!(r#""{}":"{}""#, word(byte), word(1))).collect();
        let busy = format!(r#""{}":{{"storage":{{{}}}}}"#, address(0), slots.join(","));
        let trace = format!(r#"{{"pre":{{{busy}}},"post":{{{}}}}}"#, accounts.join(","));
        let changes = read_changes(&trace).unwrap().unwrap();
        assert_eq!((changes.accounts.len(), changes.left_out), (MAX_ACCOUNTS, 56));
        assert_eq!((changes.accounts[0].slots.len(), changes.accounts[0].slots_left_out), (MAX_SLOTS, 50));
    }

    #[test]
    fn a_trace_of_accounts_instead_of_changes_is_recognized() {
        let trace = format!(r#"{{"{}":{{"balance":"0x1"}}}}"#, address(1));
        assert_eq!(read_changes(&trace).unwrap(), None);
    }
}
