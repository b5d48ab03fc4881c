//! A block of the chain with everything that execution told about it.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_consensus::{Header, ReceiptEnvelope, TxEnvelope, transaction::Recovered};
use alloy_primitives::{Address, B256, Sealed};
use serde_json::value::RawValue;

/// The identity of a block, as told to those who follow the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSummary {
    pub number: u64,
    pub hash: B256,
    pub timestamp: u64,
}

/// A block with its transactions and their receipts.
#[derive(Debug)]
pub struct MinedBlock {
    pub header: Sealed<Header>,
    pub transactions: Vec<MinedTransaction>,
    /// The length of the block's RLP.
    pub size: usize,
    pub(crate) served: ServedJson,
}

/// A transaction with what became of it.
#[derive(Debug, Clone)]
pub struct MinedTransaction {
    pub transaction: Recovered<TxEnvelope>,
    pub receipt: ReceiptEnvelope,
    pub gas_used: u64,
    pub effective_gas_price: u128,
    pub created: Option<Address>,
    /// The index in the block of this transaction's first log.
    pub first_log_index: u64,
}

/// A mined transaction found by its hash.
#[derive(Debug, Clone)]
pub struct Inclusion {
    pub block: Arc<MinedBlock>,
    pub index: usize,
}

impl MinedBlock {
    pub fn number(&self) -> u64 {
        self.header.number
    }

    pub fn hash(&self) -> B256 {
        self.header.hash()
    }

    pub fn summary(&self) -> BlockSummary {
        BlockSummary { number: self.number(), hash: self.hash(), timestamp: self.header.timestamp }
    }
}

impl MinedTransaction {
    pub fn hash(&self) -> B256 {
        *self.transaction.tx_hash()
    }

    pub fn sender(&self) -> Address {
        self.transaction.signer()
    }

    /// Whom it went to; `None` for the creation of a contract.
    pub fn recipient(&self) -> Option<Address> {
        alloy_consensus::Transaction::to(self.transaction.inner())
    }

    pub fn succeeded(&self) -> bool {
        self.receipt.status()
    }
}

impl Inclusion {
    pub fn transaction(&self) -> &MinedTransaction {
        &self.block.transactions[self.index]
    }
}

/// The forms of a block that nodes serve over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockView {
    Full,
    Hashes,
    Receipts,
}

/// The JSON of a block, made once while the block is recent.
#[derive(Debug, Default)]
pub(crate) struct ServedJson {
    views: Mutex<Views>,
}

#[derive(Debug, Default)]
struct Views {
    retired: bool,
    made: [Option<Arc<RawValue>>; 3],
}

impl ServedJson {
    pub(crate) fn get_or_make<E>(
        &self,
        view: BlockView,
        make: impl FnOnce() -> Result<Arc<RawValue>, E>,
    ) -> Result<Arc<RawValue>, E> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &views.made[view as usize] {
            return Ok(Arc::clone(made));
        }
        let json = make()?;
        if !views.retired {
            views.made[view as usize] = Some(Arc::clone(&json));
        }
        Ok(json)
    }

    /// Gives the memory back: a long-lived chain keeps no JSON of its old blocks.
    pub(crate) fn retire(&self) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        *views = Views { retired: true, made: Default::default() };
    }
}
