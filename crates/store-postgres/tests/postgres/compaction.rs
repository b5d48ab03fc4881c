//! Lists whose runs were merged return the same as before, also after reverts and more blocks.

use std::collections::BTreeSet;

use domain::{
    Address, BlockChanges, BlockRange, InternalFilter, Order, PageRequest, TransactionFilter, TransferFilter,
};
use store::{
    AddressReader, BlockReader, ChainWriter, InternalReader, InternalWriter, TransactionReader, TransferReader, Undo,
};
use store_conformance::RandomChain;
use store_postgres::{Compacted, PostgresStore};

use crate::server::{Server, open};

/// Blocks that may be reverted.
const REVERTIBLE: u64 = 12;

async fn commit(stores: &[&PostgresStore; 2], blocks: &[BlockChanges]) {
    for store in stores {
        let mut writer = store.writer();
        // One at a time, as at the head.
        for block in blocks {
            let down_to = block.block.number.saturating_sub(REVERTIBLE);
            writer.commit(vec![block.clone()], Undo::Keep { down_to }).await.unwrap();
        }
    }
}

async fn runs(server: &Server, url: &str, list: &str) -> i64 {
    let sql = format!("select count(*) from explorer.{list}_run");
    server.connect(url).await.query_one(&sql, &[]).await.unwrap().get(0)
}

/// Traces everything, a block at a time: up to the tip, and some blocks downwards.
async fn trace(stores: &[&PostgresStore; 2], blocks: &[BlockChanges], chain: &mut RandomChain) {
    let frontier = stores[0].writer().internal_frontier().await.unwrap().unwrap();
    let above = blocks.iter().filter(|changes| changes.block.number >= frontier.above);
    let below = blocks.iter().rev().filter(|changes| frontier.below.is_some_and(|below| changes.block.number <= below));
    for changes in above.chain(below.take(40)) {
        let traced = chain.internal_block(changes);
        for store in stores {
            assert_eq!(store.writer().save_internal(vec![traced.clone()]).await.unwrap(), 1);
        }
    }
}

async fn assert_same(one: &PostgresStore, other: &PostgresStore, addresses: &BTreeSet<Address>) {
    let (one, other) = (one.reader(), other.reader());
    let pages = [
        PageRequest { offset: 0, limit: 100, order: Order::OldestFirst },
        PageRequest { offset: 7, limit: 9, order: Order::NewestFirst },
    ];
    let ranges = [BlockRange::default(), BlockRange { from: Some(20), to: Some(60) }];
    for address in addresses {
        for (page, blocks) in pages.iter().flat_map(|page| ranges.iter().map(move |blocks| (*page, *blocks))) {
            let by_role = [
                TransactionFilter { blocks, ..TransactionFilter::touching(*address) },
                TransactionFilter { from: Some(*address), blocks, ..TransactionFilter::default() },
                TransactionFilter { to: Some(*address), blocks, ..TransactionFilter::default() },
            ];
            for filter in by_role {
                let (ours, theirs) =
                    (one.list_transactions(&filter, page).await, other.list_transactions(&filter, page).await);
                assert_eq!(ours.unwrap(), theirs.unwrap(), "{filter:?}");
            }
            let by_role = [
                TransferFilter { blocks, ..TransferFilter::touching(*address) },
                TransferFilter { to: Some(*address), blocks, ..TransferFilter::default() },
                TransferFilter { token: Some(*address), blocks, ..TransferFilter::default() },
            ];
            for filter in by_role {
                let (ours, theirs) =
                    (one.list_transfers(&filter, page).await, other.list_transfers(&filter, page).await);
                assert_eq!(ours.unwrap(), theirs.unwrap(), "{filter:?}");
            }
            let by_role = [
                InternalFilter { blocks, ..InternalFilter::touching(*address) },
                InternalFilter { from: Some(*address), blocks, ..InternalFilter::default() },
                InternalFilter { to: Some(*address), blocks, ..InternalFilter::default() },
            ];
            for filter in by_role {
                let (ours, theirs) = (
                    one.list_internal_transactions(&filter, page).await,
                    other.list_internal_transactions(&filter, page).await,
                );
                assert_eq!(ours.unwrap(), theirs.unwrap(), "{filter:?}");
            }
            let (ours, theirs) = (
                one.list_mined_blocks(*address, blocks, page).await,
                other.list_mined_blocks(*address, blocks, page).await,
            );
            assert_eq!(ours.unwrap(), theirs.unwrap());
        }
        let (ours, theirs) = (one.find_address(*address).await, other.find_address(*address).await);
        assert_eq!(ours.unwrap(), theirs.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn merged_lists_are_the_same_lists() {
    let server = Server::shared();
    let (merged_url, plain_url) = (server.database().await, server.database().await);
    let (merged, plain) = (open(&merged_url).await, open(&plain_url).await);
    let mut chain = RandomChain::new(11);
    let mut blocks: Vec<BlockChanges> = Vec::new();
    let (mut before, mut after) = (0, 0);
    for round in 0..4 {
        let known = blocks.len();
        for _ in 0..30 {
            let block = chain.next_block(blocks.last().map(|changes| &changes.block));
            blocks.push(block);
        }
        commit(&[&merged, &plain], &blocks[known..]).await;
        trace(&[&merged, &plain], &blocks, &mut chain).await;
        let Compacted { runs_before, runs_after, has_more } = merged.compact(true).await.unwrap();
        assert!(!has_more);
        before += runs_before;
        after += runs_after;
        assert_eq!(merged.compact(true).await.unwrap(), Compacted::default(), "nothing is left");
        let addresses = blocks.iter().flat_map(|changes| {
            let parties = changes.transactions.iter().flat_map(|tx| [Some(tx.from), tx.to]).flatten();
            let moved = changes.transfers.iter().flat_map(|transfer| [transfer.from, transfer.to, transfer.token]);
            parties.chain(moved).chain([changes.block.miner])
        });
        let addresses: BTreeSet<Address> = addresses.collect::<BTreeSet<_>>().into_iter().take(30).collect();
        assert!(addresses.len() > 5);
        assert_same(&merged, &plain, &addresses).await;
        // Down to the lowest block that may be reverted.
        let lowest = blocks.last().unwrap().block.number - REVERTIBLE + round;
        for store in [&merged, &plain] {
            store.writer().revert_to(lowest).await.unwrap();
        }
        blocks.retain(|changes| changes.block.number <= lowest);
        assert_same(&merged, &plain, &addresses).await;
    }
    assert!(before > 3 * after && after > 0, "{before} runs became {after}");
    for list in ["internal_above", "internal_below"] {
        let (merged, plain) = (runs(&server, &merged_url, list).await, runs(&server, &plain_url, list).await);
        assert!(merged < plain, "{list}: {plain} runs became {merged}");
    }
}
