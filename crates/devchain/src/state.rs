//! The world state as a persistent value: clones are cheap, so every block keeps its own.

mod merkle;

use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, keccak256};
use alloy_trie::TrieAccount;
use merkle::{Leaf, MerkleMap};
use revm::{
    bytecode::Bytecode,
    state::{AccountInfo, EvmState},
};

/// An account with its code and storage.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) nonce: u64,
    pub(crate) balance: U256,
    code_hash: B256,
    code: Bytecode,
    storage: MerkleMap<U256>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            nonce: 0,
            balance: U256::ZERO,
            code_hash: KECCAK256_EMPTY,
            code: Bytecode::default(),
            storage: MerkleMap::default(),
        }
    }
}

impl Account {
    pub(crate) fn funded(balance: U256) -> Self {
        Self { balance, ..Self::default() }
    }

    pub(crate) fn code(&self) -> &Bytecode {
        &self.code
    }

    pub(crate) fn storage(&self, slot: U256) -> U256 {
        let hashed = keccak256(slot.to_be_bytes::<32>());
        self.storage.get(&hashed).copied().unwrap_or_default()
    }

    pub(crate) fn info(&self) -> AccountInfo {
        AccountInfo::new(self.balance, self.nonce, self.code_hash, self.code.clone())
    }
}

impl Leaf for U256 {
    fn encode(&self) -> Vec<u8> {
        alloy_rlp::encode(self)
    }
}

impl Leaf for Account {
    fn encode(&self) -> Vec<u8> {
        alloy_rlp::encode(TrieAccount {
            nonce: self.nonce,
            balance: self.balance,
            storage_root: self.storage.root(),
            code_hash: self.code_hash,
        })
    }
}

/// All accounts after some block.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorldState {
    accounts: MerkleMap<Account>,
}

impl WorldState {
    pub(crate) fn with_accounts(accounts: impl IntoIterator<Item = (Address, Account)>) -> Self {
        let mut state = Self::default();
        for (address, account) in accounts {
            state.accounts.insert(keccak256(address), account);
        }
        state
    }

    pub(crate) fn account(&self, address: Address) -> Option<&Account> {
        self.accounts.get(&keccak256(address))
    }

    pub(crate) fn root(&self) -> B256 {
        self.accounts.root()
    }

    /// Memory of the nodes that no other state shares, without code.
    pub(crate) fn unshared_bytes(&self) -> usize {
        self.accounts.unshared_bytes(&|account| account.storage.unshared_bytes(&|_| 0))
    }

    /// Applies the changes of an execution.
    pub(crate) fn apply(&mut self, changes: EvmState) {
        for (address, change) in changes {
            if !change.is_touched() {
                continue;
            }
            let key = keccak256(address);
            // EIP-161: touched empty accounts are deleted.
            if change.is_selfdestructed() || change.info.is_empty() {
                self.accounts.remove(&key);
                continue;
            }
            let mut account = match self.accounts.get(&key) {
                // A created contract starts with empty storage.
                Some(known) if !change.is_created() => known.clone(),
                _ => Account::default(),
            };
            account.nonce = change.info.nonce;
            account.balance = change.info.balance;
            account.code_hash = change.info.code_hash;
            if let Some(code) = change.info.code {
                account.code = code;
            }
            for (slot, value) in &change.storage {
                if !value.is_changed() {
                    continue;
                }
                let hashed = keccak256(slot.to_be_bytes::<32>());
                if value.present_value.is_zero() {
                    account.storage.remove(&hashed);
                } else {
                    account.storage.insert(hashed, value.present_value);
                }
            }
            self.accounts.insert(key, account);
        }
    }
}
