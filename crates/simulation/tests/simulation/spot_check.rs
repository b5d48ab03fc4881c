//! Checks during a run that the newest indexed blocks are those of some branch of the chain.

use domain::{BlockRange, PageRequest, TransactionFilter};
use store::ChainReader;

use crate::world::{World, lock};

const NEWEST: PageRequest = PageRequest { offset: 0, limit: 20, order: domain::Order::NewestFirst };

pub(crate) async fn spot_check(world: &World, reader: &dyn ChainReader) {
    let blocks = reader.list_blocks(BlockRange::ALL, NEWEST).await.unwrap().items;
    let transactions = reader.list_transactions(&TransactionFilter::default(), NEWEST).await.unwrap().items;
    let branches = lock(&world.branches);
    for block in &blocks {
        let truth = branches.blocks.get(&block.hash).unwrap_or_else(|| panic!("the chain never had {block:?}"));
        let count = u32::try_from(truth.transactions.len()).unwrap();
        assert_eq!((block.number, block.tx_count), (truth.number(), count), "{block:?}");
        assert_eq!(block.timestamp, truth.header.timestamp, "{block:?}");
        assert_eq!(block.gas_used, truth.header.gas_used, "{block:?}");
    }
    for pair in blocks.windows(2) {
        assert_eq!(pair[0].parent_hash, pair[1].hash, "consecutive blocks are not linked");
    }
    for transaction in &transactions {
        let block = &branches.blocks[&transaction.block_hash];
        let truth = &block.transactions[usize::try_from(transaction.index).unwrap()];
        assert_eq!(transaction.hash, truth.hash(), "{transaction:?}");
        assert_eq!((transaction.from, transaction.to), (truth.sender(), truth.recipient()), "{transaction:?}");
        assert_eq!(transaction.succeeded, truth.succeeded(), "{transaction:?}");
        assert_eq!(transaction.gas_used, truth.gas_used, "{transaction:?}");
    }
}
