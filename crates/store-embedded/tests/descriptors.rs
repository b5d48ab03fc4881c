//! Without free file descriptors, writes wait until there are some. In its own binary, since the limit applies to the
//! whole process.

#![cfg(target_os = "linux")]
// All of this is test code, also where clippy does not detect it.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use domain::BlockChanges;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::conformance::RandomChain;
use store::{ChainReader, ChainWriter, StoreError, Undo};
use store_embedded::{EmbeddedStore, StoreOptions};

const KEEP: Undo = Undo::Keep { down_to: 0 };
const TIMEOUT: Duration = Duration::from_secs(60);

fn options() -> StoreOptions {
    StoreOptions { write_buffer_bytes: 40 << 10, ..StoreOptions::default() }
}

fn allow_descriptors(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(count), ..limit }).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_without_free_descriptors_wait_and_resume() {
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
        assert!(blocks.len() < 5_000, "tables are still written");
    };
    assert!(matches!(failure, StoreError::Unavailable { .. }), "{failure:?}");
    assert!(failure.is_transient());
    let started = Instant::now();
    loop {
        let rejected = writer.commit(vec![chain.next_block(blocks.last().map(|changes| &changes.block))], KEEP).await;
        match rejected {
            Err(StoreError::Unavailable { reason }) if reason == "too many open files" => break,
            Err(StoreError::Unavailable { .. }) => assert!(started.elapsed() < TIMEOUT, "the reason is not reported"),
            other => panic!("{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(reader.find_tip().await.unwrap(), blocks.last().map(|changes| changes.block.id()), "reads continue");

    allow_descriptors(before);
    let next = chain.next_block(blocks.last().map(|changes| &changes.block));
    while let Err(failure) = writer.commit(vec![next.clone()], KEEP).await {
        assert!(failure.is_transient(), "{failure:?}");
        assert!(started.elapsed() < 2 * TIMEOUT, "writes do not resume: {failure}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    blocks.push(next);
    fresh.writer().commit(blocks.clone(), KEEP).await.unwrap();
    assert_eq!(reader.fingerprint().unwrap(), fresh.reader().fingerprint().unwrap());
    drop((writer, reader, store));
    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    assert_eq!(store.reader().fingerprint().unwrap(), fresh.reader().fingerprint().unwrap());
}
