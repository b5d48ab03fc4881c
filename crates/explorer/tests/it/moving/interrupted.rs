//! An import that is killed at any moment is complete after the same command.

use std::{path::Path, time::Duration};

use domain::{Address, B256, BlockRef, Bytes, DeliveryId, EventKind, NewWebhook};
use store::{MatchedBlock, Matches, NewEvent, Part, RawRecords, Recipient, Record, RecordKind, Store, WebhookLimits};

use super::{command, export, import, open_folder, text};
use crate::{
    postgres::server::{Server, open},
    support::process::Process,
};

const MESSAGES: u64 = 12_000;

/// Fills the queue of a webhook.
async fn fill(folder: &Path) {
    let store = open_folder(folder).await;
    let records = Store::webhook_records(&store, WebhookLimits::default());
    let new = NewWebhook {
        owner: Address::repeat_byte(1),
        watched: Address::repeat_byte(1),
        created_at: 5,
        ..NewWebhook::sample()
    };
    let webhook = records.add_webhook(new).await.unwrap().id;
    for number in 1..=MESSAGES / 1_000 {
        let event = |index: u64| {
            let id = DeliveryId::new((u128::from(number) << 64 | u128::from(index)).to_be_bytes());
            let body = Bytes::from(format!("message {number} {index}").into_bytes());
            NewEvent { kind: EventKind::Ping, location: None, body, recipients: vec![Recipient { webhook, id }] }
        };
        let block = BlockRef { number, hash: B256::with_last_byte(u8::try_from(number).unwrap()) };
        let matches = Matches {
            version: records.watch_list().await.unwrap().version,
            from: records.find_cursor().await.unwrap(),
            blocks: vec![MatchedBlock { block, known_to: webhook }],
            events: (0..1_000).map(event).collect(),
            part: Part::Last,
            skips_internal: true,
        };
        records.enqueue_matches(matches, 7).await.unwrap();
    }
}

async fn dump(store: &dyn RawRecords) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for kind in RecordKind::ALL {
        let mut after = None;
        loop {
            let batch = store.read_records(kind, after, 1_000, u64::MAX).await.unwrap();
            let Some(last) = batch.last() else { break };
            after = Some(last.position());
            records.extend(batch);
        }
    }
    records
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_killed_many_times_is_complete_in_the_end() {
    let server = Server::shared();
    let (folder, back, files) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(folder.path()).await;
    let database = server.database().await;
    for (from, to, name) in [(text(folder.path()), database.as_str(), "one"), (&database, text(back.path()), "two")] {
        let file = files.path().join(name);
        let (succeeded, message) = export(from, &file).await;
        assert!(succeeded, "{message}");
        let (mut interrupted, mut pause) = (0, Duration::from_millis(40));
        loop {
            let mut importing = Process::spawn(&mut command("import", text(&file), to));
            tokio::time::sleep(pause).await;
            importing.kill();
            // Small steps, so that some end in the middle however fast the machine is.
            pause = pause * 4 / 3;
            let found = if to == database {
                open(&database).await.raw_records().find_import().await.unwrap()
            } else {
                open_folder(back.path()).await.raw_records().find_import().await.unwrap()
            };
            match found {
                Some(import) if import.is_complete => break,
                Some(_) => interrupted += 1,
                None => {}
            }
        }
        println!("{interrupted} times in the middle");
        assert!(interrupted >= 1, "no import was killed in the middle");
        let (succeeded, message) = import(&file, to).await;
        assert!(succeeded, "{message}");
    }
    let (source, target) = (open_folder(folder.path()).await, open_folder(back.path()).await);
    let (ours, theirs) = (dump(&*source.raw_records()).await, dump(&*target.raw_records()).await);
    assert!(ours.len() as u64 > 2 * MESSAGES && ours == theirs, "{} and {} records", ours.len(), theirs.len());
}
