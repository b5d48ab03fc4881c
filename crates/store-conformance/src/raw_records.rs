//! Copies all records that the other checks leave in a store, and compares both stores by every query.

use domain::{
    Address, B256, BlockRef, FailureSource, KeyDigest, NewApiKey, NewWebhook, Order, PageRequest, TransactionFailure,
    UnixMillis, Webhook,
};

use super::{VerifiedSubject, run_user_records, run_verified_contracts, run_webhook_records};
use store::{AddKeyError, RawRecords, Record, RecordImport, RecordKind, Removal, Retraction, Store, WebhookLimits};

const NOW: UnixMillis = 1_800_000_000_000;
const ALL: PageRequest = PageRequest { offset: 0, limit: 1_000, order: Order::OldestFirst };

/// Fills one empty store, copies its records to another empty one of any kind, and compares them.
pub async fn run_raw_records(source: &dyn Store, target: &dyn Store) {
    leave_records(source).await;
    copy(source, target).await;
    let (from, to) = (source.raw_records(), target.raw_records());
    let (ours, theirs) = (dump(&*from, 1_000).await, dump(&*to, 7).await);
    compare(&ours, &theirs);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        if let (Record::Delivery(ours), Record::Delivery(theirs)) = (ours, theirs) {
            assert!(theirs.maybe_received || !ours.maybe_received, "{ours:?} {theirs:?}");
        }
    }
    for kind in RecordKind::ALL {
        assert!(ours.iter().any(|record| record.position().kind() == kind), "the checks leave no {kind:?}");
    }
    compare_queries(source, target, &ours).await;
    both_continue_alike(source, target, &ours).await;
    compare(&dump(&*from, 1_000).await, &dump(&*to, 1_000).await);
}

/// Leaves records of every kind in an empty store.
pub async fn leave_records(store: &dyn Store) {
    run_webhook_records(hooks(store)).await;
    // They end with the process that uses the store.
    hooks(store).end_leases().await.expect("end");
    run_user_records(store.user_records()).await;
    let (writer, reader, records) = (store.writer(), store.reader(), store.verified_contracts());
    run_verified_contracts(VerifiedSubject { writer, reader, records }, 5).await;
    let failure = TransactionFailure { error: "out of gas".to_owned(), data: None, source: FailureSource::ParentBlock };
    store.failures().save_failure(B256::repeat_byte(1), B256::repeat_byte(2), failure).await.expect("save");
}

/// Copies all records, after an import that was interrupted.
async fn copy(source: &dyn Store, target: &dyn Store) {
    let (from, to) = (source.raw_records(), target.raw_records());
    let records = dump(&*from, 1_000).await;
    let expected = from.count_records().await.expect("count");
    assert!(records.len() as u64 >= expected, "{} of {expected} records", records.len());
    let mut import = RecordImport { id: "one".to_owned(), source: "records.ndjson".to_owned(), is_complete: false };
    assert_eq!(to.find_import().await.expect("find"), None);
    to.save_import(Some(import.clone())).await.expect("save");
    to.write_records(records[..records.len() / 2].to_vec()).await.expect("write");
    assert!(to.has_records().await.expect("has"));
    to.delete_records().await.expect("delete");
    assert!(!to.has_records().await.expect("has"), "nothing of the first attempt is left");
    for batch in records.chunks(100) {
        to.write_records(batch.to_vec()).await.expect("write");
    }
    assert_eq!(to.find_import().await.expect("find").as_ref(), Some(&import));
    import.is_complete = true;
    to.save_import(Some(import.clone())).await.expect("save");
    assert_eq!(to.find_import().await.expect("find"), Some(import));
    to.save_import(None).await.expect("save");
    assert_eq!(to.find_import().await.expect("find"), None);
}

async fn dump(store: &dyn RawRecords, limit: usize) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for kind in RecordKind::ALL {
        let mut after = None;
        loop {
            let batch = store.read_records(kind, after, limit, NOW).await.expect("read");
            let Some(last) = batch.last() else { break };
            after = Some(last.position());
            records.extend(batch);
        }
    }
    assert!(records.is_sorted_by(|one, next| one.position() < next.position()), "in order, each once");
    records
}

fn compare(ours: &[Record], theirs: &[Record]) {
    // A store without leases on disk says of everything due that it may have been received.
    let normalize = |record: &Record| {
        let mut record = record.clone();
        if let Record::Delivery(delivery) = &mut record {
            delivery.maybe_received = false;
        }
        record
    };
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert_eq!(normalize(ours), normalize(theirs));
    }
    assert_eq!(ours.len(), theirs.len());
}

async fn compare_queries(source: &dyn Store, target: &dyn Store, records: &[Record]) {
    let (keys, copied_keys) = (source.user_records(), target.user_records());
    let (hooks, copied_hooks) = (hooks(source), hooks(target));
    let (verified, copied_verified) = (source.verified_contracts(), target.verified_contracts());
    macro_rules! same {
        ($one:ident, $other:ident, $method:ident($($argument:expr),*)) => {
            assert_eq!($one.$method($($argument),*).await.expect("query"), $other.$method($($argument),*).await.expect("query"))
        };
    }
    same!(keys, copied_keys, list_newest_keys(1_000));
    same!(verified, copied_verified, count_verifications());
    same!(hooks, copied_hooks, watch_list());
    same!(hooks, copied_hooks, list_queues());
    same!(hooks, copied_hooks, find_cursor());
    same!(hooks, copied_hooks, list_matched_blocks(u64::MAX, 1_000));
    let (progress, copied) =
        (hooks.progress().await.expect("progress"), copied_hooks.progress().await.expect("progress"));
    assert_eq!((progress.begun, progress.retracting, false), (copied.begun, copied.retracting, progress.copied));
    assert_eq!(copied.copied, copied.cursor.is_some(), "webhooks wait for the index");
    let (totals, copied_totals) = (hooks.totals(), copied_hooks.totals());
    assert_eq!((totals.webhooks, totals.pending), (copied_totals.webhooks, copied_totals.pending));
    for record in records {
        match record {
            Record::ApiKey(key) => {
                same!(keys, copied_keys, find_key(key.id));
                same!(keys, copied_keys, find_key_by_digest(key.digest));
                same!(keys, copied_keys, list_keys(key.owner));
            }
            Record::Webhook(hook) => {
                same!(hooks, copied_hooks, find_webhook(hook.id));
                same!(hooks, copied_hooks, list_webhooks(hook.owner));
                same!(hooks, copied_hooks, find_due(hook.id));
            }
            Record::DeliveryLog(log) => {
                same!(hooks, copied_hooks, queue_counts(log.webhook));
                same!(hooks, copied_hooks, list_deliveries(log.webhook, ALL));
            }
            Record::Delivery(delivery) => {
                same!(hooks, copied_hooks, find_delivery(delivery.delivery.webhook, delivery.delivery.id));
            }
            Record::MatchedBlock(matched) => {
                same!(hooks, copied_hooks, find_orphaning(matched.block));
            }
            Record::VerifiedContract(contract) => {
                let (address, hash) = (contract.address, contract.code_hash);
                let found = verified.find_verified(address, hash).await.expect("find");
                let copied = copied_verified.find_verified(address, hash).await.expect("find");
                // The number of a removed contract stays taken, and names no contract.
                assert_eq!(found.is_none(), address == Address::ZERO);
                // A deployment is shown when the index has its creation.
                assert_eq!(
                    found.map(|found| (found.code, found.twin_of, None)),
                    copied.map(|copied| (copied.code, copied.twin_of, copied.deployment))
                );
            }
            Record::Job(job) => same!(verified, copied_verified, find_job(job.job.id)),
            _ => {}
        }
    }
}

fn hooks(store: &dyn Store) -> std::sync::Arc<dyn store::WebhookRecords> {
    store.webhook_records(WebhookLimits::default())
}

/// The same changes have the same results in both.
async fn both_continue_alike(source: &dyn Store, target: &dyn Store, records: &[Record]) {
    let mut results = Vec::new();
    let owner = Address::repeat_byte(0x99);
    let used = records.iter().find_map(|record| match record {
        Record::UsedProof(proof) => Some(*proof),
        _ => None,
    });
    let used = used.expect("a used proof");
    for store in [source, target] {
        let (keys, hooks) = (store.user_records(), hooks(store));
        let new_key = NewApiKey {
            digest: KeyDigest::new([0x99; 32]),
            owner,
            prefix: "expl_next".to_owned(),
            label: String::new(),
            requests_per_minute: 1,
            created_at: NOW,
            proof: None,
        };
        let again = NewApiKey { owner: used.owner, proof: Some(used.signed_at), ..new_key.clone() };
        let again = keys.add_key(again).await;
        assert!(matches!(again, Err(AddKeyError::ProofUsed)), "{again:?}");
        let key = keys.add_key(new_key).await.expect("add").id;

        let mut claimed = Vec::new();
        for head in hooks.list_queues().await.expect("queues") {
            claimed.extend(hooks.claim(head.webhook, 3, NOW, NOW + 1).await.expect("claim"));
        }
        hooks.end_leases().await.expect("end");
        hooks.begin_retraction(Retraction { to: None, rebased: Vec::new(), rebase_to: None }).await.expect("begin");
        assert!(!hooks.progress().await.expect("progress").copied, "the copied cursor was moved");
        let mut retracted = 0;
        loop {
            let batch = hooks.list_retracted(5).await.expect("list");
            let Some(upto) = batch.upto else { break };
            retracted += batch.deliveries.len();
            hooks.retract(Vec::<Removal>::new(), upto, NOW).await.expect("retract");
        }
        hooks.end_retraction().await.expect("end");
        let orphaned: BlockRef = records
            .iter()
            .find_map(|record| match record {
                Record::MatchedBlock(matched) => Some(matched.block),
                _ => None,
            })
            .expect("a matched block");
        let orphaning = hooks.find_orphaning(orphaned).await.expect("find");
        assert!(orphaning.is_some());
        let webhook: Webhook = hooks
            .add_webhook(NewWebhook { owner, watched: owner, created_at: NOW, ..NewWebhook::sample() })
            .await
            .expect("add");
        hooks.delete_webhook(webhook.id).await.expect("delete");
        let forgotten = hooks.forget_deliveries(0, 1_000).await.expect("forget");
        results.push((key, claimed, retracted, orphaning, webhook.id, forgotten));
    }
    assert_eq!(results[0], results[1]);
}
