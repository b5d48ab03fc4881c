//! Mined blocks with their receipts.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_consensus::{Header, ReceiptEnvelope, TxEnvelope, transaction::Recovered};
use alloy_primitives::{Address, B256, Sealed};
use serde_json::value::RawValue;

/// The identity of a block, as sent to subscribers.
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
    pub(crate) json: JsonCache,
}

/// A transaction with its receipt.
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

    /// `None` for a contract creation.
    pub fn recipient(&self) -> Option<Address> {
        alloy_consensus::Transaction::to(self.transaction.inner())
    }

    pub fn succeeded(&self) -> bool {
        self.receipt.status()
    }
}

impl Inclusion {
    #[expect(clippy::indexing_slicing, reason = "only the ledger makes one, for a transaction of the block")]
    pub fn transaction(&self) -> &MinedTransaction {
        &self.block.transactions[self.index]
    }
}

/// The JSON forms of a block that are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockView {
    Full,
    Hashes,
    Receipts,
}

/// Caches the JSON of a recent block.
#[derive(Debug, Default)]
pub(crate) struct JsonCache {
    views: Mutex<Views>,
}

#[derive(Debug, Default)]
struct Views {
    retired: bool,
    full: Option<Arc<RawValue>>,
    hashes: Option<Arc<RawValue>>,
    receipts: Option<Arc<RawValue>>,
}

impl Views {
    fn view(&mut self, view: BlockView) -> &mut Option<Arc<RawValue>> {
        match view {
            BlockView::Full => &mut self.full,
            BlockView::Hashes => &mut self.hashes,
            BlockView::Receipts => &mut self.receipts,
        }
    }
}

impl JsonCache {
    pub(crate) fn get_or_render<E>(
        &self,
        view: BlockView,
        render: impl FnOnce() -> Result<Arc<RawValue>, E>,
    ) -> Result<Arc<RawValue>, E> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = views.view(view) {
            return Ok(Arc::clone(cached));
        }
        let json = render()?;
        if !views.retired {
            *views.view(view) = Some(Arc::clone(&json));
        }
        Ok(json)
    }

    /// Frees the memory and disables the cache, once the block is old.
    pub(crate) fn retire(&self) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        *views = Views { retired: true, ..Views::default() };
    }
}
