//! What the first block grants, from the genesis file of the chain: nodes do not list it.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use alloy_trie::{
    TrieAccount,
    root::{state_root_unhashed, storage_root_unhashed},
};
use domain::{CreditEvent, CreditSource};
use serde::Deserialize;
use serde_json::Value;

/// The accounts of the first block. Its hash covers the root of their state, so that the list is proven as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Genesis {
    accounts: BTreeMap<Address, TrieAccount>,
}

/// Why a genesis file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GenesisError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("{text} is no {what}, in the account {account}")]
    Field { account: String, what: &'static str, text: String },
}

/// The format of geth, which most clients read.
#[derive(Deserialize)]
struct RawGenesisFile {
    alloc: BTreeMap<String, RawAccount>,
}

#[derive(Deserialize)]
struct RawAccount {
    balance: Option<Value>,
    nonce: Option<Value>,
    code: Option<String>,
    #[serde(default)]
    storage: BTreeMap<String, String>,
}

impl Genesis {
    /// Accounts with coins alone.
    #[must_use]
    pub fn of_balances(balances: impl IntoIterator<Item = (Address, U256)>) -> Self {
        let account = |(address, balance)| (address, TrieAccount { balance, ..TrieAccount::default() });
        Self { accounts: balances.into_iter().map(account).collect() }
    }

    /// # Errors
    /// If the text is no genesis file with an `alloc`.
    pub fn read(text: &str) -> Result<Self, GenesisError> {
        let file: RawGenesisFile = serde_json::from_str(text)?;
        let accounts = file.alloc.iter().map(|(name, account)| account.read(name));
        Ok(Self { accounts: accounts.collect::<Result<_, _>>()? })
    }

    pub(crate) fn has_root(&self, root: B256) -> bool {
        let root_of = |keeps: fn(&TrieAccount) -> bool| {
            let kept = self.accounts.iter().filter(|(_, account)| keeps(account));
            state_root_unhashed(kept.map(|(address, account)| (*address, *account)))
        };
        // Some clients leave out accounts that have nothing.
        root_of(|_| true) == root || root_of(|account| *account != TrieAccount::default()) == root
    }

    pub(crate) fn credits(&self) -> impl Iterator<Item = CreditEvent> {
        let credit = |(to, account): (&Address, &TrieAccount)| CreditEvent {
            to: *to,
            amount: account.balance,
            source: CreditSource::Genesis,
        };
        self.accounts.iter().map(credit).filter(|credit| !credit.amount.is_zero())
    }
}

impl RawAccount {
    fn read(&self, name: &str) -> Result<(Address, TrieAccount), GenesisError> {
        let error = |what, text: &str| GenesisError::Field { account: name.to_owned(), what, text: text.to_owned() };
        let word = |text: &str| word(text).ok_or_else(|| error("word of the storage", text));
        let mut storage = BTreeMap::new();
        for (slot, value) in &self.storage {
            storage.insert(B256::from(word(slot)?), word(value)?);
        }
        storage.retain(|_, value| !value.is_zero());
        let code = self.code.as_deref().unwrap_or_default();
        let code: Bytes = hex::decode(code).map_err(|_| error("code", code))?.into();
        let amount = |value: &Option<Value>, what| match value {
            None => Ok(U256::ZERO),
            Some(value) => number(value).ok_or_else(|| error(what, &value.to_string())),
        };
        let nonce = amount(&self.nonce, "nonce")?;
        let account = TrieAccount {
            nonce: nonce.try_into().map_err(|_| error("nonce", &nonce.to_string()))?,
            balance: amount(&self.balance, "balance")?,
            storage_root: storage_root_unhashed(storage),
            code_hash: keccak256(code),
        };
        Ok((hex::decode_to_array(name).map(Address::new).map_err(|_| error("address", name))?, account))
    }
}

/// A hexadecimal number, with or without its prefix.
fn word(text: &str) -> Option<U256> {
    U256::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// A number of JSON, or a text: hexadecimal with a prefix, else decimal.
fn number(value: &Value) -> Option<U256> {
    match value {
        Value::Number(number) => number.as_u64().map(U256::from),
        Value::String(text) if text.starts_with("0x") => word(text),
        Value::String(text) => U256::from_str_radix(text, 10).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "0x0000000000000000000000000000000000000009";

    #[test]
    fn accounts_are_proven_by_the_root_of_the_state() {
        let text = format!(
            r#"{{"config": {{}}, "alloc": {{
                "a94f5374fce5edbc8e2a8697c15331677e6ebf0b": {{"balance": "0xffffffffffffffffffff", "nonce": "0x0"}},
                "0x00000000000000000000000000000000000000c0": {{"balance": 7, "code": "0x6001", "nonce": 1,
                    "storage": {{"0x00": "0x2a", "1": "0x0"}}}},
                "0x00000000000000000000000000000000000000c1": {{"balance": "12345678901234567890123"}},
                "{EMPTY}": {{}}
            }}}}"#
        );
        let genesis = Genesis::read(&text).unwrap();
        let paid: Vec<(Address, String)> =
            genesis.credits().map(|credit| (credit.to, credit.amount.to_string())).collect();
        let address = |byte: u8| Address::with_last_byte(byte);
        assert_eq!(paid[..2], [(address(0xc0), "7".to_owned()), (address(0xc1), "12345678901234567890123".to_owned())]);
        assert_eq!(paid[2].1, "1208925819614629174706175");
        assert_eq!(paid.len(), 3, "an account without coins is granted none");
        let root = state_root_unhashed(genesis.accounts.iter().map(|(address, account)| (*address, *account)));
        assert!(genesis.has_root(root));
        let mut without = genesis.clone();
        without.accounts.remove(&EMPTY.parse::<Address>().unwrap());
        assert!(!without.has_root(root));
        let root = state_root_unhashed(without.accounts.iter().map(|(address, account)| (*address, *account)));
        assert!(genesis.has_root(root), "where accounts that have nothing are left out");
        let contract = genesis.accounts[&address(0xc0)];
        assert_eq!(contract.storage_root, storage_root_unhashed([(B256::ZERO, U256::from(42))]));
    }

    #[test]
    fn what_cannot_be_read_is_not_left_out() {
        for (account, says) in [
            (r#""0x12": {}"#, "is no address"),
            (r#""0x0000000000000000000000000000000000000009": {"balance": "12 coins"}"#, "is no balance"),
            (r#""0x0000000000000000000000000000000000000009": {"balance": 1.5}"#, "is no balance"),
            (r#""0x0000000000000000000000000000000000000009": {"nonce": "0x10000000000000000"}"#, "is no nonce"),
            (r#""0x0000000000000000000000000000000000000009": {"code": "0x6"}"#, "is no code"),
            (r#""0x0000000000000000000000000000000000000009": {"storage": {"0x1": "x"}}"#, "is no word"),
        ] {
            let error = Genesis::read(&format!(r#"{{"alloc": {{{account}}}}}"#)).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
        assert!(Genesis::read("{}").is_err());
    }
}
