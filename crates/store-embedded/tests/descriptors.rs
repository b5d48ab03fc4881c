//! Without free file descriptors, writes wait until there are some. In their own binary and one after the other, since the
//! limit applies to the whole process.

#![cfg(target_os = "linux")]
// All of this is test code, also where clippy does not detect it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::time::{Duration, Instant};

use domain::{
    Address, Attempt, AttemptEffect, AttemptOutcome, AttemptReport, BlockChanges, Bytes, DeliveryId, DeliveryNumber,
    EventKind, NewDelivery, NewWebhook, NextStep, WebhookId,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::{ChainReader, ChainWriter, StoreError, Undo, WebhookRecords};
use store_conformance::RandomChain;
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

/// Held while the limit is lowered.
static LIMIT: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

async fn write_until_refused(
    writer: &mut impl ChainWriter,
    chain: &mut RandomChain,
    blocks: &mut Vec<BlockChanges>,
) -> StoreError {
    loop {
        let block = chain.next_block(blocks.last().map(|changes| &changes.block));
        match writer.commit(vec![block.clone()], KEEP).await {
            Ok(()) => blocks.push(block),
            Err(failure) => return failure,
        }
        assert!(blocks.len() < 5_000, "tables are written all the same");
    }
}

fn new_webhook() -> NewWebhook {
    NewWebhook {
        owner: Address::repeat_byte(1),
        watched: Address::repeat_byte(9),
        created_at: 5,
        ..NewWebhook::sample()
    }
}

fn message(webhook: WebhookId, number: u8) -> NewDelivery {
    let (id, body) = (DeliveryId::new([number; 16]), Bytes::from(vec![number]));
    NewDelivery { webhook, id, kind: EventKind::Ping, location: None, body }
}

fn done(webhook: WebhookId, number: DeliveryNumber) -> AttemptReport {
    let outcome = AttemptOutcome::Answered { status: 200, body: String::new() };
    let attempt = Attempt { at: 1, millis: 1, outcome };
    AttemptReport { webhook, number, attempt, effect: AttemptEffect::Succeeded, next: NextStep::Done, dropped: 0 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_queues_that_cannot_be_written_does_not_happen_in_memory_either() {
    let _alone = LIMIT.lock().await;
    let before = getrlimit(Resource::Nofile).current.unwrap_or(1_024);
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    let (mut writer, records, mut chain) = (store.writer(), store.webhook_records(), RandomChain::new(8));
    let webhook = records.add_webhook(new_webhook()).await.unwrap().id;
    for number in 0..4 {
        records.enqueue(message(webhook, number), 10).await.unwrap().unwrap();
    }
    const LEASE: u64 = 1_000_000;
    let claimed = records.claim(webhook, 2, 20, LEASE).await.unwrap();
    let totals = records.totals();
    let numbers: Vec<DeliveryNumber> = claimed.iter().map(|delivery| delivery.number).collect();
    assert_eq!((numbers.len(), totals.pending), (2, 4));

    allow_descriptors(3);
    write_until_refused(&mut writer, &mut chain, &mut Vec::new()).await;
    let failure = records.record_attempts(vec![done(webhook, numbers[0])]).await.unwrap_err();
    assert!(failure.is_transient(), "{failure:?}");
    assert!(records.forget_deliveries(u64::MAX, 100).await.is_err());
    assert_eq!(records.totals(), totals);

    allow_descriptors(before);
    let begun = Instant::now();
    let rest = loop {
        // While the index is opened again nothing can be read either.
        match records.claim(webhook, 10, 30, LEASE).await {
            Ok(rest) => break rest,
            Err(failure) => assert!(failure.is_transient() && begun.elapsed() < TIMEOUT, "{failure:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let rest: Vec<DeliveryNumber> = rest.iter().map(|delivery| delivery.number).collect();
    assert_eq!(rest, [numbers[1] + 1, numbers[1] + 2], "those that are under way stay so, and none is passed over");
    let reports: Vec<AttemptReport> = numbers.iter().chain(&rest).map(|number| done(webhook, *number)).collect();
    while let Err(failure) = records.record_attempts(reports.clone()).await {
        assert!(failure.is_transient() && begun.elapsed() < 2 * TIMEOUT, "{failure:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(records.totals().pending, 0);
    assert_eq!(records.find_due(webhook).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_without_free_descriptors_wait_and_resume() {
    let _alone = LIMIT.lock().await;
    let before = getrlimit(Resource::Nofile).current.unwrap_or(1_024);
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fresh = EmbeddedStore::open(other.path(), StoreOptions::default()).unwrap();
    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    let (mut writer, reader, mut chain) = (store.writer(), store.reader(), RandomChain::new(8));
    let mut blocks: Vec<BlockChanges> = vec![chain.next_block(None)];
    writer.commit(blocks.clone(), KEEP).await.unwrap();

    allow_descriptors(3);
    let failure = write_until_refused(&mut writer, &mut chain, &mut blocks).await;
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
