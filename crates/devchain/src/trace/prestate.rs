//! The accounts that a transaction read or changed, in the format of geth's `prestateTracer`.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::state::{Account as ChangedAccount, AccountInfo, EvmState};
use serde::{Deserialize, Serialize};

use crate::state::WorldState;

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrestateOptions {
    diff_mode: Option<bool>,
    disable_code: Option<bool>,
    disable_storage: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Prestate {
    /// Everything that was read, as it was before.
    Read(BTreeMap<Address, AccountState>),
    /// What was changed.
    Changed { post: BTreeMap<Address, AccountState>, pre: BTreeMap<Address, AccountState> },
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct AccountState {
    #[serde(skip_serializing_if = "Option::is_none")]
    balance: Option<U256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    storage: BTreeMap<B256, B256>,
}

impl PrestateOptions {
    /// `after` are all accounts and slots that the transaction loaded, with their values after it.
    pub(super) fn trace(self, before: &WorldState, after: &EvmState) -> Prestate {
        if self.diff_mode.unwrap_or_default() { self.changed(before, after) } else { self.read(before, after) }
    }

    fn read(self, before: &WorldState, after: &EvmState) -> Prestate {
        let mut accounts = BTreeMap::new();
        for (address, loaded) in after {
            let info = info_before(before, *address);
            // As geth does, even for accounts that the transaction funded.
            if info.is_empty() {
                continue;
            }
            let storage = self.slots(loaded).map(|(slot, value, _)| (slot, value)).collect();
            accounts.insert(*address, self.account(&info, storage));
        }
        Prestate::Read(accounts)
    }

    fn changed(self, before: &WorldState, after: &EvmState) -> Prestate {
        let (mut pre, mut post) = (BTreeMap::new(), BTreeMap::new());
        for (address, changed) in after {
            let info = info_before(before, *address);
            let slots = || self.slots(changed).filter(|(_, before, after)| before != after);
            let old = self.account(&info, slots().map(|(slot, value, _)| (slot, value)).collect());
            let mut new = self.account(&changed.info, slots().map(|(slot, _, value)| (slot, value)).collect());
            if changed.info.code_hash == info.code_hash {
                // revm need not have loaded it.
                new.code = old.code.clone();
            }
            let is_destroyed = changed.is_selfdestructed();
            if old == new && !is_destroyed {
                continue;
            }
            if !is_destroyed {
                let only_if_changed = AccountState {
                    balance: new.balance.filter(|_| new.balance != old.balance),
                    nonce: new.nonce.filter(|_| new.nonce != old.nonce),
                    code: new.code.filter(|code| old.code.as_ref() != Some(code)),
                    storage: without_zeros(new.storage),
                };
                post.insert(*address, only_if_changed);
            }
            if !(changed.is_created() && info.is_empty()) {
                pre.insert(*address, AccountState { storage: without_zeros(old.storage), ..old });
            }
        }
        Prestate::Changed { post, pre }
    }

    /// Slots with their values before and after.
    fn slots(self, account: &ChangedAccount) -> impl Iterator<Item = (B256, B256, B256)> {
        let is_wanted = !self.disable_storage.unwrap_or_default();
        let slots = account.storage.iter().filter(move |_| is_wanted);
        slots.map(|(slot, value)| ((*slot).into(), value.original_value.into(), value.present_value.into()))
    }

    fn account(self, info: &AccountInfo, storage: BTreeMap<B256, B256>) -> AccountState {
        let is_wanted = !self.disable_code.unwrap_or_default();
        let code = info.code.as_ref().filter(|_| is_wanted && !info.is_empty_code_hash());
        AccountState {
            balance: Some(info.balance),
            code: code.map(|code| code.original_bytes()).filter(|code| !code.is_empty()),
            nonce: Some(info.nonce).filter(|nonce| *nonce != 0),
            storage,
        }
    }
}

fn info_before(before: &WorldState, address: Address) -> AccountInfo {
    before.account(address).map(|account| account.info()).unwrap_or_default()
}

fn without_zeros(mut storage: BTreeMap<B256, B256>) -> BTreeMap<B256, B256> {
    storage.retain(|_, value| !value.is_zero());
    storage
}
