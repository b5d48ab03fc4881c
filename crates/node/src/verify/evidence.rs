//! What a chain has shown of itself so far. Shared by all endpoints: they serve the same chain.

use std::{
    collections::HashSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
};

use domain::BlockNumber;

use super::{BlockCheck, transaction::Kind};

/// A block that did not pass a check and has not been had from any node since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedBlock {
    pub number: BlockNumber,
    pub check: BlockCheck,
}

#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// A header's hash was that of its fields: so the chain hashes headers as Ethereum does, and the fields mean what they
    /// mean there.
    headers: AtomicBool,
    blooms: AtomicBool,
    /// The newest block that a node told of, and one more; 0 where none did.
    head: AtomicU64,
    /// A bit for each type of transaction whose hash was that of its fields.
    kinds: AtomicU8,
    /// A transactions root was right for a block with blob transactions.
    blob_roots: AtomicBool,
    /// Blocks of which a part could not be proven.
    unproven: AtomicU64,
    said: Mutex<HashSet<String>>,
    refused: Mutex<Option<RefusedBlock>>,
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

    pub(super) fn has_proven(&self, kind: Kind) -> bool {
        self.kinds.load(Ordering::Relaxed) & bit(kind) != 0
    }

    pub(super) fn kind_proven(&self, kind: Kind) {
        if !self.has_proven(kind) {
            self.kinds.fetch_or(bit(kind), Ordering::Relaxed);
        }
    }

    pub(super) fn has_blob_roots(&self) -> bool {
        self.blob_roots.load(Ordering::Relaxed)
    }

    pub(super) fn blob_root_proven(&self) {
        self.blob_roots.store(true, Ordering::Relaxed);
    }

    /// Says what cannot be proven, each reason once: it holds for a whole chain, or for all its blocks from a fork on.
    pub(super) fn unproven(&self, number: BlockNumber, host: &str, why: String) {
        self.unproven.fetch_add(1, Ordering::Relaxed);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if !said.contains(&why) {
            tracing::warn!(block = number, node = host, reason = %why, "a block cannot be proven");
            said.insert(why);
        }
    }

    pub(crate) fn refuse(&self, refused: RefusedBlock) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
    }

    pub(crate) fn accept(&self, number: BlockNumber) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.as_ref().is_some_and(|refused| refused.number == number) {
            tracing::info!(block = number, "a block that was refused came as it ought to be");
            *refused = None;
        }
    }

    pub(crate) fn refused_block(&self) -> Option<RefusedBlock> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn unproven_blocks(&self) -> u64 {
        self.unproven.load(Ordering::Relaxed)
    }
}

fn bit(kind: Kind) -> u8 {
    match kind {
        Kind::Legacy => 1,
        Kind::Eip2930 => 2,
        Kind::Eip1559 => 4,
        Kind::Eip4844 => 8,
        Kind::Eip7702 => 16,
        Kind::Deposit => 32,
    }
}
