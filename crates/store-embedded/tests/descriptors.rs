//! A table that cannot be written, for want of a file descriptor, holds writing up for as long as that lasts. Alone in its
//! binary, since the limit is the whole process's.

#![cfg(target_os = "linux")]
// All of this is test code, also where clippy cannot tell.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use domain::BlockChanges;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::conformance::RandomChain;
use store::{ChainReader, ChainWriter, StoreError, Undo};
use store_embedded::{EmbeddedStore, StoreOptions};

const KEEP: Undo = Undo::Keep { down_to: 0 };
const PATIENCE: Duration = Duration::from_secs(60);

fn options() -> StoreOptions {
    StoreOptions { write_buffer_bytes: 40 << 10, ..StoreOptions::default() }
}

fn allow_descriptors(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(count), ..limit }).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_descriptors_writing_waits_and_goes_on_by_itself() {
    let before = getrlimit(Resource::Nofile).current.unwrap_or(1_024);
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fresh = EmbeddedStore::open(other.path(), StoreOptions::default()).unwrap();
    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    let (mut writer, reader, mut chain) = (store.writer(), store.reader(), RandomChain::new(8));
    let mut blocks: Vec<BlockChanges> = vec![chain.next_block(None)];
    writer.commit(blocks.clone(), KEEP).await.unwrap();

    allow_descriptors(3);
    let failure = loop {
        let block = chain.next_block(blocks.last().map(|changes| &changes.block));
        match writer.commit(vec![block.clone()], KEEP).await {
            Ok(()) => blocks.push(block),
            Err(failure) => break failure,
        }
        assert!(blocks.len() < 5_000, "tables are written all the same");
    };
    assert!(matches!(failure, StoreError::Unavailable { .. }), "{failure:?}");
    assert!(failure.is_transient());
    let begun = Instant::now();
    loop {
        let refused = writer.commit(vec![chain.next_block(blocks.last().map(|changes| &changes.block))], KEEP).await;
        match refused {
            Err(StoreError::Unavailable { reason }) if reason == "too many open files" => break,
            Err(StoreError::Unavailable { .. }) => assert!(begun.elapsed() < PATIENCE, "the reason is not found"),
            other => panic!("{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(reader.find_tip().await.unwrap(), blocks.last().map(|changes| changes.block.id()), "readers go on");

    allow_descriptors(before);
    let next = chain.next_block(blocks.last().map(|changes| &changes.block));
    while let Err(failure) = writer.commit(vec![next.clone()], KEEP).await {
        assert!(failure.is_transient(), "{failure:?}");
        assert!(begun.elapsed() < 2 * PATIENCE, "writing does not go on: {failure}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    blocks.push(next);
    fresh.writer().commit(blocks.clone(), KEEP).await.unwrap();
    assert_eq!(reader.fingerprint().unwrap(), fresh.reader().fingerprint().unwrap());
    drop((writer, reader, store));
    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    assert_eq!(store.reader().fingerprint().unwrap(), fresh.reader().fingerprint().unwrap());
}
