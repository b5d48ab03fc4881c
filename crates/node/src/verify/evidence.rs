//! Facts learned about a chain, shared by all its endpoints.

use std::{
    collections::HashSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
};

use domain::BlockNumber;

use super::{checks::BlockCheck, transaction::TxType};

/// A block that failed a check and has not been returned correctly by any node since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedBlock {
    pub number: BlockNumber,
    pub check: BlockCheck,
}

#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// A header hash matched its fields, so the chain hashes headers as Ethereum does.
    headers: AtomicBool,
    blooms: AtomicBool,
    /// One more than the newest head that a node reported; 0 if none did.
    head: AtomicU64,
    /// A bit per transaction type whose hash matched its fields.
    types: AtomicU8,
    /// A transactions root was correct for a block with blob transactions.
    blob_roots: AtomicBool,
    /// One more than the oldest block whose receipts root covered statuses; 0 if none did.
    status_from: AtomicU64,
    /// Blocks that could not be fully proven.
    unproven: AtomicU64,
    reported: Mutex<HashSet<String>>,
    rejected: Mutex<Option<RejectedBlock>>,
}

impl Evidence {
    pub(super) fn headers_are_hashed_as_ethereums(&self) -> bool {
        self.headers.load(Ordering::Relaxed)
    }

    pub(crate) fn header_proven(&self) {
        self.headers.store(true, Ordering::Relaxed);
    }

    pub(crate) fn see_head(&self, number: BlockNumber) {
        self.head.store(number.saturating_add(1), Ordering::Relaxed);
    }

    pub(super) fn head(&self) -> Option<BlockNumber> {
        self.head.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(super) fn has_blooms(&self) -> bool {
        self.blooms.load(Ordering::Relaxed)
    }

    pub(super) fn bloom_seen(&self) {
        self.blooms.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_proven(&self, tx_type: TxType) -> bool {
        self.types.load(Ordering::Relaxed) & bit(tx_type) != 0
    }

    pub(super) fn type_proven(&self, tx_type: TxType) {
        if !self.has_proven(tx_type) {
            self.types.fetch_or(bit(tx_type), Ordering::Relaxed);
        }
    }

    pub(super) fn has_blob_roots(&self) -> bool {
        self.blob_roots.load(Ordering::Relaxed)
    }

    pub(super) fn blob_root_proven(&self) {
        self.blob_roots.store(true, Ordering::Relaxed);
    }

    /// Whether receipts of this block have a status and no root of the state.
    pub(super) fn has_status_at(&self, number: BlockNumber) -> bool {
        (1..=number.saturating_add(1)).contains(&self.status_from.load(Ordering::Relaxed))
    }

    pub(super) fn status_proven(&self, number: BlockNumber) {
        let older = |known: u64| (known == 0 || number < known - 1).then_some(number.saturating_add(1));
        // An error says that an older block is known.
        let _ = self.status_from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, older);
    }

    /// Logs once that an endpoint numbers logs wrongly.
    pub(crate) fn misnumbered(&self, number: BlockNumber, host: &str) {
        let why = format!("{host} numbers logs wrongly");
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert(why) {
            tracing::warn!(
                block = number,
                node = host,
                "the node numbers logs wrongly: their indexes are derived from their order"
            );
        }
    }

    /// Logs each reason once: it applies to a whole chain, or to all blocks after a fork.
    pub(super) fn unproven(&self, number: BlockNumber, host: &str, why: String) {
        self.unproven.fetch_add(1, Ordering::Relaxed);
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if !reported.contains(&why) {
            tracing::warn!(block = number, node = host, reason = %why, "cannot fully verify a block, accepting it");
            reported.insert(why);
        }
    }

    pub(crate) fn reject(&self, rejected: RejectedBlock) {
        *self.rejected.lock().unwrap_or_else(PoisonError::into_inner) = Some(rejected);
    }

    pub(crate) fn accept(&self, number: BlockNumber) {
        let mut rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
        if rejected.as_ref().is_some_and(|rejected| rejected.number == number) {
            tracing::info!(block = number, "received a valid version of a rejected block");
            *rejected = None;
        }
    }

    pub(crate) fn rejected_block(&self) -> Option<RejectedBlock> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn unproven_blocks(&self) -> u64 {
        self.unproven.load(Ordering::Relaxed)
    }
}

fn bit(tx_type: TxType) -> u8 {
    match tx_type {
        TxType::Legacy => 1,
        TxType::Eip2930 => 2,
        TxType::Eip1559 => 4,
        TxType::Eip4844 => 8,
        TxType::Eip7702 => 16,
        TxType::Deposit => 32,
    }
}
