//! The pool of pending transactions.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap},
};

use alloy_consensus::{Transaction, TxEnvelope, transaction::Recovered};
use alloy_eips::eip2718::Eip2718Error;
use alloy_primitives::{Address, B256, U256};
use revm::{context_interface::cfg::gas::calculate_initial_tx_gas_for_tx, primitives::eip3860::MAX_INITCODE_SIZE};

use crate::{
    builder::{BlockBuilder, Rejection},
    config::DevChainConfig,
    evm,
    state::WorldState,
};

/// Why a transaction was rejected by the pool.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("transaction cannot be decoded: {0}")]
    Malformed(#[from] Eip2718Error),
    #[error("invalid signature")]
    BadSignature,
    #[error("blob transactions are not supported")]
    BlobTransaction,
    #[error("invalid chain id: have {given}, want {expected}")]
    WrongChain { given: u64, expected: u64 },
    #[error("already known")]
    AlreadyKnown,
    #[error("nonce too low: next nonce {next}, tx nonce {given}")]
    NonceTooLow { given: u64, next: u64 },
    #[error("replacement transaction underpriced")]
    ReplacementUnderpriced,
    #[error("exceeds block gas limit: tx gas limit {given}, block gas limit {limit}")]
    AboveBlockGasLimit { given: u64, limit: u64 },
    #[error("intrinsic gas too low: have {given}, want {needed}")]
    IntrinsicGas { given: u64, needed: u64 },
    #[error("max priority fee per gas higher than max fee per gas")]
    TipAboveFeeCap,
    #[error("max initcode size exceeded: code size {given}, limit {MAX_INITCODE_SIZE}")]
    InitCodeTooLong { given: usize },
    #[error("set code transaction without an authorization")]
    NoAuthorization,
    #[error("sender not an eoa: {0}")]
    SenderIsContract(Address),
    #[error("insufficient funds for gas * price + value: balance {balance}, tx cost {cost}")]
    InsufficientFunds { cost: U256, balance: U256 },
}

#[derive(Debug)]
struct Pending {
    arrival: u64,
    transaction: Recovered<TxEnvelope>,
}

/// Pending transactions, mined in order of arrival as far as nonces allow.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    senders: HashMap<Address, BTreeMap<u64, Pending>>,
    hashes: HashMap<B256, (Address, u64)>,
    arrivals: u64,
}

impl Pool {
    /// Validates a transaction against the latest state and adds it.
    pub(crate) fn submit(
        &mut self,
        transaction: Recovered<TxEnvelope>,
        world: &WorldState,
        config: &DevChainConfig,
    ) -> Result<B256, SubmitError> {
        let hash = *transaction.tx_hash();
        if self.hashes.contains_key(&hash) {
            return Err(SubmitError::AlreadyKnown);
        }
        check_form(&transaction, config)?;
        let sender = transaction.signer();
        let account = world.account(sender);
        if let Some(account) = account
            && !account.code().is_empty()
            && !account.code().is_eip7702()
        {
            return Err(SubmitError::SenderIsContract(sender));
        }
        let next = account.map(|account| account.nonce).unwrap_or_default();
        if transaction.nonce() < next {
            let given = transaction.nonce();
            return Err(SubmitError::NonceTooLow { given, next });
        }
        let balance = account.map(|account| account.balance).unwrap_or_default();
        let others = self.senders.get(&sender);
        if let Some(existing) = others.and_then(|pending| pending.get(&transaction.nonce())) {
            check_replacement(&existing.transaction, &transaction)?;
        }
        let cost = others
            .into_iter()
            .flatten()
            .filter(|(nonce, _)| **nonce >= next && **nonce != transaction.nonce())
            .map(|(_, pending)| max_cost(&pending.transaction))
            .fold(max_cost(&transaction), U256::saturating_add);
        if cost > balance {
            return Err(SubmitError::InsufficientFunds { cost, balance });
        }
        self.insert(transaction);
        Ok(hash)
    }

    /// Adds a transaction without validation, for one that was in a block before a reorg.
    pub(crate) fn insert(&mut self, transaction: Recovered<TxEnvelope>) {
        let (sender, nonce) = (transaction.signer(), transaction.nonce());
        self.hashes.insert(*transaction.tx_hash(), (sender, nonce));
        self.arrivals += 1;
        let pending = Pending { arrival: self.arrivals, transaction };
        let replaced = self.senders.entry(sender).or_default().insert(nonce, pending);
        if let Some(replaced) = replaced {
            self.hashes.remove(replaced.transaction.tx_hash());
        }
    }

    pub(crate) fn get(&self, hash: &B256) -> Option<&Recovered<TxEnvelope>> {
        let (sender, nonce) = self.hashes.get(hash)?;
        let pending = self.senders.get(sender)?.get(nonce)?;
        Some(&pending.transaction)
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The nonce for the sender's next transaction, including pending ones.
    pub(crate) fn next_nonce(&self, sender: Address, world: &WorldState) -> u64 {
        let mut nonce = nonce_of(world, sender);
        if let Some(pending) = self.senders.get(&sender) {
            while pending.contains_key(&nonce) {
                nonce += 1;
            }
        }
        nonce
    }

    /// Moves executable transactions into the block.
    pub(crate) fn fill(&mut self, block: &mut BlockBuilder) {
        let mut queue: BinaryHeap<Reverse<(u64, Address, u64)>> = self
            .senders
            .iter()
            .filter_map(|(sender, pending)| {
                let nonce = nonce_of(block.world(), *sender);
                let first = pending.get(&nonce)?;
                Some(Reverse((first.arrival, *sender, nonce)))
            })
            .collect();
        while let Some(Reverse((_, sender, nonce))) = queue.pop() {
            let Some(pending) = self.senders.get(&sender).and_then(|held| held.get(&nonce)) else {
                continue;
            };
            match block.push(&pending.transaction) {
                Ok(()) => {
                    self.remove(sender, nonce);
                    let next = self.senders.get(&sender).and_then(|held| held.get(&(nonce + 1)));
                    if let Some(next) = next {
                        queue.push(Reverse((next.arrival, sender, nonce + 1)));
                    }
                }
                Err(Rejection::NotNow) => {}
                Err(Rejection::Invalid(reason)) => {
                    let hash = pending.transaction.tx_hash();
                    tracing::debug!(%hash, %sender, nonce, %reason, "invalid transaction dropped");
                    self.remove(sender, nonce);
                }
            }
        }
    }

    /// Removes transactions whose nonce is already used.
    pub(crate) fn remove_stale(&mut self, world: &WorldState) {
        let hashes = &mut self.hashes;
        self.senders.retain(|sender, held| {
            let live = held.split_off(&nonce_of(world, *sender));
            for stale in std::mem::replace(held, live).into_values() {
                hashes.remove(stale.transaction.tx_hash());
            }
            !held.is_empty()
        });
    }

    fn remove(&mut self, sender: Address, nonce: u64) {
        let Some(held) = self.senders.get_mut(&sender) else {
            return;
        };
        if let Some(removed) = held.remove(&nonce) {
            self.hashes.remove(removed.transaction.tx_hash());
        }
        if held.is_empty() {
            self.senders.remove(&sender);
        }
    }
}

fn nonce_of(world: &WorldState, sender: Address) -> u64 {
    world.account(sender).map(|account| account.nonce).unwrap_or_default()
}

/// Stateless validation of a transaction.
fn check_form(transaction: &Recovered<TxEnvelope>, config: &DevChainConfig) -> Result<(), SubmitError> {
    if transaction.is_eip4844() {
        return Err(SubmitError::BlobTransaction);
    }
    if let Some(given) = transaction.chain_id()
        && given != config.chain_id
    {
        let expected = config.chain_id;
        return Err(SubmitError::WrongChain { given, expected });
    }
    let given = transaction.gas_limit();
    if given > config.block_gas_limit {
        let limit = config.block_gas_limit;
        return Err(SubmitError::AboveBlockGasLimit { given, limit });
    }
    if transaction.max_priority_fee_per_gas().is_some_and(|tip| tip > transaction.max_fee_per_gas()) {
        return Err(SubmitError::TipAboveFeeCap);
    }
    if transaction.is_create() && transaction.input().len() > MAX_INITCODE_SIZE {
        let given = transaction.input().len();
        return Err(SubmitError::InitCodeTooLong { given });
    }
    if transaction.is_eip7702() && transaction.authorization_list().is_none_or(<[_]>::is_empty) {
        return Err(SubmitError::NoAuthorization);
    }
    let intrinsic = calculate_initial_tx_gas_for_tx(evm::tx_env(transaction), evm::FORK, None);
    let needed = intrinsic.initial_regular_gas.max(intrinsic.floor_gas);
    if given < needed {
        return Err(SubmitError::IntrinsicGas { given, needed });
    }
    Ok(())
}

/// A pending transaction can be replaced only by one that pays 10% more.
fn check_replacement(existing: &Recovered<TxEnvelope>, replacement: &Recovered<TxEnvelope>) -> Result<(), SubmitError> {
    let pays_more = |now: u128, then: u128| now >= then.saturating_add(then.div_ceil(10));
    let tip = |transaction: &Recovered<TxEnvelope>| {
        transaction.max_priority_fee_per_gas().unwrap_or_else(|| transaction.max_fee_per_gas())
    };
    if pays_more(replacement.max_fee_per_gas(), existing.max_fee_per_gas())
        && pays_more(tip(replacement), tip(existing))
    {
        Ok(())
    } else {
        Err(SubmitError::ReplacementUnderpriced)
    }
}

/// The maximum that a transaction can cost its sender.
fn max_cost(transaction: &Recovered<TxEnvelope>) -> U256 {
    U256::from(transaction.gas_limit())
        .saturating_mul(U256::from(transaction.max_fee_per_gas()))
        .saturating_add(transaction.value())
}
