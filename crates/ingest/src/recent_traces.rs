//! Traces that were requested for the contracts created in a block, until its internal transactions are stored: no block is traced
//! twice at the head.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use domain::{BlockRef, FetchedBlock, InnerCreation};
use node::BlockCalls;

/// What is kept at most; the oldest is dropped.
const MAX_BLOCKS: usize = 64;
const MAX_CALLS: usize = 50_000;

#[derive(Debug, Default)]
pub(crate) struct RecentTraces(Mutex<VecDeque<(BlockRef, BlockCalls)>>);

impl RecentTraces {
    pub(crate) fn keep(&self, block: BlockRef, calls: BlockCalls) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((block, calls));
        while kept.len() > MAX_BLOCKS || kept.iter().map(|(_, calls)| count(calls)).sum::<usize>() > MAX_CALLS {
            kept.pop_front();
        }
    }

    /// The calls of a block, once.
    pub(crate) fn take(&self, block: BlockRef) -> Option<BlockCalls> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = kept.iter().position(|(of, _)| *of == block)?;
        kept.remove(index).map(|(_, calls)| calls)
    }
}

fn count(calls: &BlockCalls) -> usize {
    calls.iter().map(|traced| traced.calls.len()).sum()
}

/// What the trace of a block tells that the index needs with the block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Contracts created inside transactions.
    pub(crate) creations: Vec<InnerCreation>,
    /// Positions of the transactions that failed.
    pub(crate) failed: Vec<u32>,
}

impl Findings {
    /// None if the calls are those of another block. They are requested by number, and may be of another branch.
    pub(crate) fn of(block: &FetchedBlock, calls: &BlockCalls) -> Option<Self> {
        if calls.len() != block.transactions.len() {
            return None;
        }
        let mut findings = Self::default();
        for (tx, traced) in block.transactions.iter().zip(calls) {
            if traced.hash.is_some_and(|hash| hash != tx.hash) {
                return None;
            }
            findings.failed.extend(traced.has_failed.then_some(tx.index));
            let stands = tx.succeeded && !traced.has_failed;
            let made = traced.calls.iter().filter(|call| stands && call.kind.is_creation() && call.error.is_none());
            let made = made
                .filter_map(|call| Some(InnerCreation { tx_index: tx.index, creator: call.from, created: call.to? }));
            findings.creations.extend(made);
        }
        Some(findings)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, InternalKind, U256};
    use node::{InternalCall, TracedTransaction};

    use super::*;
    use crate::decode::samples::{ROUTER, fetched, transaction};

    fn block(number: u64) -> BlockRef {
        BlockRef { number, hash: B256::with_last_byte(u8::try_from(number).unwrap()) }
    }

    #[test]
    fn the_newest_blocks_are_kept_and_taken_once() {
        let recent = RecentTraces::default();
        (0..100).for_each(|number| recent.keep(block(number), vec![TracedTransaction::default()]));
        assert_eq!(recent.take(block(35)), None);
        assert_eq!(recent.take(BlockRef { hash: B256::ZERO, ..block(99) }), None, "another branch");
        assert!(recent.take(block(36)).is_some() && recent.take(block(99)).is_some());
        assert_eq!(recent.take(block(99)), None);
    }

    fn call(kind: InternalKind, error: Option<&str>) -> InternalCall {
        let (from, to) = (Address::repeat_byte(1), Some(Address::repeat_byte(2)));
        let error = error.map(str::to_owned);
        InternalCall { kind, path: vec![0], from, to, value: U256::ONE, gas: 0, gas_used: 0, error }
    }

    #[test]
    fn contracts_are_created_by_calls_that_succeeded() {
        let mut block = fetched(Vec::new());
        block.transactions = vec![transaction(0, Some(ROUTER), None), transaction(1, Some(ROUTER), None)];
        block.transactions[1].succeeded = false;
        let hash = Some(block.transactions[0].hash);
        let made = vec![
            call(InternalKind::Call, None),
            call(InternalKind::Create, Some("out of gas")),
            call(InternalKind::Create2, None),
        ];
        let expected =
            InnerCreation { tx_index: 0, creator: Address::repeat_byte(1), created: Address::repeat_byte(2) };
        let traced = |hash, has_failed| TracedTransaction { hash, has_failed, calls: made.clone() };
        let found = Findings::of(&block, &vec![traced(hash, false), traced(None, true)]);
        assert_eq!(found, Some(Findings { creations: vec![expected], failed: vec![1] }));
        let other = Some(B256::repeat_byte(0x77));
        assert_eq!(Findings::of(&block, &vec![traced(other, false), traced(None, true)]), None, "another block");
        assert_eq!(Findings::of(&block, &Vec::new()), None);
    }
}
