//! Two writers of one store: the newer one replaces the other.

use domain::{BlockChanges, BlockRef, ChainIdentity};

use super::{Model, RandomChain, Subject, checks};
use store::{Failure, IndexWriter, Store, StoreError, Undo};

const KEEP: Undo = Undo::Keep { down_to: 0 };

/// Tests that an empty store has one writer at a time.
pub async fn run_writers(store: &dyn Store) {
    let mut chain = RandomChain::new(5);
    let (first, second, third) = blocks(&mut chain);
    let mut replaced = store.writer();
    replaced.commit(vec![first.clone()], KEEP).await.expect("the only writer");

    let mut writer = store.writer();
    assert_eq!(writer.tip().await.expect("tip"), Some(first.block.id()), "it continues where the other one stopped");
    every_method_says_replaced(replaced.as_mut(), &second).await;
    assert_eq!(tip(store).await, Some(first.block.id()), "a replaced writer changes nothing");

    writer.commit(vec![second.clone()], KEEP).await.expect("commit");
    writer.revert_to(first.block.number).await.expect("revert");
    writer.commit(vec![second.clone()], KEEP).await.expect("commit");
    every_method_says_replaced(replaced.as_mut(), &third).await;
    assert_eq!(tip(store).await, Some(second.block.id()));

    a_commit_in_progress_is_completed_or_fails(store, writer, &third).await;
    every_writer_knows_who_was_active_today(store, &mut chain, vec![first, second, third]).await;
}

fn blocks(chain: &mut RandomChain) -> (BlockChanges, BlockChanges, BlockChanges) {
    let first = chain.next_block(None);
    let second = chain.next_block(Some(&first.block));
    let third = chain.next_block(Some(&second.block));
    (first, second, third)
}

async fn tip(store: &dyn Store) -> Option<BlockRef> {
    store.reader().find_tip().await.expect("tip")
}

fn assert_replaced<T>(method: &str, result: Result<T, StoreError>) {
    let failure = result.err().map(|error| error.failure());
    assert_eq!(failure, Some(Failure::WriterReplaced), "{method} of a replaced writer");
}

async fn every_method_says_replaced(writer: &mut dyn IndexWriter, next: &BlockChanges) {
    assert_replaced("tip", writer.tip().await);
    assert_replaced("find_block_hash", writer.find_block_hash(0).await);
    assert_replaced("oldest_revertible", writer.oldest_revertible().await);
    assert_replaced("commit", writer.commit(vec![next.clone()], KEEP).await);
    assert_replaced("revert_to", writer.revert_to(0).await);
    let chain = ChainIdentity { chain_id: 1, genesis_hash: next.block.hash };
    assert_replaced("start_over", writer.start_over(chain).await);
    assert_replaced("list_pending_tokens", writer.list_pending_tokens(1).await);
    assert_replaced("save_token_metadata", writer.save_token_metadata(Vec::new()).await);
    assert_replaced("list_audits", writer.list_audits(1).await);
    assert_replaced("save_audits", writer.save_audits(Vec::new(), 0).await);
    assert_replaced("list_pending_balances", writer.list_pending_balances(1).await);
    assert_replaced("save_balances", writer.save_balances(Vec::new(), 0).await);
    assert_replaced("list_pending_codes", writer.list_pending_codes(1).await);
    assert_replaced("save_codes", writer.save_codes(Vec::new(), 0).await);
    assert_replaced("rank_holders", writer.rank_holders(1).await);
    assert_replaced("internal_frontier", writer.internal_frontier().await);
    assert_replaced("save_internal", writer.save_internal(Vec::new()).await);
    assert_replaced("skip_internal", writer.skip_internal(0).await);
}

/// The new writer's first tip already includes the commit, or the commit never happens.
async fn a_commit_in_progress_is_completed_or_fails(
    store: &dyn Store,
    mut replaced: Box<dyn IndexWriter>,
    next: &BlockChanges,
) {
    let committing = replaced.commit(vec![next.clone()], KEEP);
    let taking_over = async {
        let writer = store.writer();
        let tip = writer.tip().await.expect("tip");
        (writer, tip)
    };
    let (committed, (mut writer, seen)) = futures::join!(committing, taking_over);
    let is_committed = match committed {
        Ok(()) => true,
        Err(StoreError::WriterReplaced) => false,
        Err(other) => panic!("{other}"),
    };
    assert_eq!(seen == Some(next.block.id()), is_committed, "the new writer sees the last state");
    if !is_committed {
        writer.commit(vec![next.clone()], KEEP).await.expect("the block that is still missing");
    }
    assert_eq!(tip(store).await, Some(next.block.id()));
}

/// A writer that did not see the day begin counts the addresses that were active before it once.
async fn every_writer_knows_who_was_active_today(
    store: &dyn Store,
    chain: &mut RandomChain,
    blocks: Vec<BlockChanges>,
) {
    let mut model = Model::default();
    model.commit(blocks, KEEP);
    for _ in 0..25 {
        let next = chain.next_block(model.newest_block().as_ref());
        store.writer().commit(vec![next.clone()], KEEP).await.expect("commit");
        model.commit(vec![next], KEEP);
    }
    checks::days(&Subject::of(store), &model).await;
}
