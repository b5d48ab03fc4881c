//! Mined blocks with their receipts.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_consensus::{
    Block, BlockBody, Header, Receipt, ReceiptEnvelope, Transaction, TxEnvelope, transaction::Recovered,
};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{Address, B256, Sealable, Sealed};
use alloy_rlp::Encodable;
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
    pub(crate) fn new(header: Header, transactions: Vec<MinedTransaction>) -> Self {
        let body = BlockBody {
            transactions: transactions.iter().map(|mined| mined.transaction.inner()).collect::<Vec<_>>(),
            ommers: Vec::new(),
            withdrawals: Some(Withdrawals::default()),
        };
        let size = Block::new(&header, body).length();
        Self { header: header.seal_slow(), transactions, size, json: JsonCache::default() }
    }

    /// Approximate memory, without cached JSON.
    pub(crate) fn memory(&self) -> usize {
        let transactions: usize = self.transactions.iter().map(MinedTransaction::memory).sum();
        size_of::<Self>() + transactions
    }

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
    /// `previous` is the transaction before it in the block.
    pub(crate) fn new(
        transaction: Recovered<TxEnvelope>,
        receipt: Receipt,
        previous: Option<&Self>,
        base_fee: u64,
    ) -> Self {
        let (gas_before, first_log_index) = previous.map_or((0, 0), |previous| {
            let logs = previous.receipt.logs().len() as u64;
            (previous.receipt.cumulative_gas_used(), previous.first_log_index + logs)
        });
        Self {
            gas_used: receipt.cumulative_gas_used.saturating_sub(gas_before),
            effective_gas_price: transaction.effective_gas_price(Some(base_fee)),
            // Also if the creation failed: receipts then contain the address, too.
            created: transaction.is_create().then(|| transaction.signer().create(transaction.nonce())),
            first_log_index,
            receipt: ReceiptEnvelope::from_typed(transaction.tx_type(), receipt),
            transaction,
        }
    }

    fn memory(&self) -> usize {
        let logs = self.receipt.logs().iter();
        let logs: usize = logs.map(|log| size_of_val(log) + size_of_val(log.topics()) + log.data.data.len()).sum();
        size_of::<Self>() + self.transaction.input().len() + logs
    }

    pub fn hash(&self) -> B256 {
        *self.transaction.tx_hash()
    }

    pub fn sender(&self) -> Address {
        self.transaction.signer()
    }

    /// `None` for a contract creation.
    pub fn recipient(&self) -> Option<Address> {
        self.transaction.to()
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
