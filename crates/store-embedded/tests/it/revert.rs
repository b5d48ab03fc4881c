//! A revert undoes a commit byte for byte.

use domain::BlockChanges;
use proptest::prelude::*;
use store::{ChainWriter, Undo};
use store_conformance::RandomChain;
use store_embedded::{EmbeddedStore, StoreOptions};

const KEEP: Undo = Undo::Keep { down_to: 0 };

fn grow(chain: &mut RandomChain, parent: Option<&BlockChanges>, count: usize) -> Vec<BlockChanges> {
    let mut blocks: Vec<BlockChanges> = Vec::new();
    for _ in 0..count {
        let parent = blocks.last().or(parent).map(|changes| &changes.block);
        let next = chain.next_block(parent);
        blocks.push(next);
    }
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn reverting_a_commit_restores_the_fingerprint(
        seed: u64,
        base in 1_usize..60,
        batches in prop::collection::vec(1_usize..12, 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
            let (mut writer, reader) = (store.writer(), store.reader());
            let mut chain = RandomChain::new(seed);
            let blocks = grow(&mut chain, None, base);
            writer.commit(blocks.clone(), KEEP).await.unwrap();

            // Each state on the way up must be restored on the way down.
            let mut states = Vec::new();
            let mut newest = blocks.last().cloned();
            for count in batches {
                states.push((writer.tip().await.unwrap().unwrap().number, reader.fingerprint().unwrap()));
                let blocks = grow(&mut chain, newest.as_ref(), count);
                newest = blocks.last().cloned();
                writer.commit(blocks, KEEP).await.unwrap();
            }
            while let Some((number, fingerprint)) = states.pop() {
                writer.revert_to(number).await.unwrap();
                assert_eq!(reader.fingerprint().unwrap(), fingerprint, "after the revert to block {number}");
            }
        });
    }

    #[test]
    fn a_reorged_chain_is_stored_like_one_without_reorg(
        seed: u64,
        base in 1_usize..40,
        dropped in 1_usize..30,
        regrown in 1_usize..30,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut chain = RandomChain::new(seed);
            let blocks = grow(&mut chain, None, base);
            let orphans = grow(&mut chain, blocks.last(), dropped);
            let branch = grow(&mut chain, blocks.last(), regrown);

            let folder = tempfile::tempdir().unwrap();
            let moved = EmbeddedStore::open(&folder.path().join("moved"), StoreOptions::default()).unwrap();
            let mut writer = moved.writer();
            writer.commit(blocks.clone(), KEEP).await.unwrap();
            writer.commit(orphans, KEEP).await.unwrap();
            writer.revert_to(blocks.last().unwrap().block.number).await.unwrap();
            writer.commit(branch.clone(), KEEP).await.unwrap();

            let fresh = EmbeddedStore::open(&folder.path().join("fresh"), StoreOptions::default()).unwrap();
            fresh.writer().commit([blocks, branch].concat(), KEEP).await.unwrap();
            assert_eq!(moved.reader().fingerprint().unwrap(), fresh.reader().fingerprint().unwrap());
        });
    }
}
