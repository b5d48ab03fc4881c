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
    calls.iter().map(|(_, calls)| calls.len()).sum()
}

/// The contracts created inside the transactions of a block; None if the calls are those of another one. They are requested by
/// number, and may be of another branch.
pub(crate) fn creations(block: &FetchedBlock, calls: &BlockCalls) -> Option<Vec<InnerCreation>> {
    if calls.len() != block.transactions.len() {
        return None;
    }
    let mut creations = Vec::new();
    for (tx, (hash, calls)) in block.transactions.iter().zip(calls) {
        if hash.is_some_and(|hash| hash != tx.hash) {
            return None;
        }
        let made = calls.iter().filter(|call| tx.succeeded && call.kind.is_creation() && call.error.is_none());
        let made =
            made.filter_map(|call| Some(InnerCreation { tx_index: tx.index, creator: call.from, created: call.to? }));
        creations.extend(made);
    }
    Some(creations)
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, InternalKind, U256};
    use node::InternalCall;

    use super::*;
    use crate::decode::samples::{ROUTER, fetched, transaction};

    fn block(number: u64) -> BlockRef {
        BlockRef { number, hash: B256::with_last_byte(u8::try_from(number).unwrap()) }
    }

    #[test]
    fn the_newest_blocks_are_kept_and_taken_once() {
        let recent = RecentTraces::default();
        (0..100).for_each(|number| recent.keep(block(number), vec![(None, Vec::new())]));
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
        let calls = vec![(hash, made.clone()), (None, made.clone())];
        assert_eq!(creations(&block, &calls), Some(vec![expected]));
        assert_eq!(
            creations(&block, &vec![(Some(B256::repeat_byte(0x77)), made.clone()), (None, made)]),
            None,
            "another block"
        );
        assert_eq!(creations(&block, &Vec::new()), None);
    }
}
