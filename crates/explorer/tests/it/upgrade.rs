//! A data folder or database of an earlier version: the chain is indexed again, and what users left stays.

use std::{path::Path, time::Duration};

use alloy_primitives::{TxKind, U256};
use domain::{B256, BlockChanges, ChainIdentity};
use serde_json::{Value, json};
use store::{ChainReader, ChainWriter, OlderIndex, Record, RecordKind, Store, StoreError, Undo, WebhookLimits};
use store_conformance::{RandomChain, leave_records};
use store_embedded::testing::age_index;
use store_postgres::{OpenError, PostgresOptions, PostgresStore, testing::open_as_next_version};

use crate::{
    contracts::verifier_fixture::{VerifierFixture, read_contracts},
    postgres::{
        KEY,
        server::{Server, open, options},
    },
    support::{
        DevNode, Launch, eventually, expected_state,
        fixture::lower_hex,
        key_request::KeyRequest,
        process::Process,
        read_api,
        receiver::{Behavior, Receiver},
        run_explorer,
    },
    webhooks::{self, register},
};

fn launch(node: &DevNode, data: &Path) -> Launch {
    webhooks::launch(&node.url()).variable("EXPLORER_WEBHOOK_ENCRYPTION_KEY", KEY).on(data)
}

/// Kills explorers that upgrade the folder, at moments that differ. Some of them must not have been done.
async fn kill_some(node: &DevNode, data: &Path) {
    let mut kills = 0;
    for millis in [20, 40, 60, 80, 120, 160, 240, 320] {
        let mut process: Process = launch(node, data).spawn();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        kills += usize::from(process.is_running() && !process.stdout().contains("Listening on "));
        process.kill();
    }
    assert!(kills >= 1, "no process was killed before it served");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_messages_outlive_an_index_of_an_earlier_version() {
    let (node, _) = DevNode::with_traffic(120).await;
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let explorer_before = launch(&node, data).start().await;
    node.wait_for(&explorer_before).await;
    let key = KeyRequest::by(&node.chain.accounts()[0]).key(explorer_before.client()).await;
    let receiver = Receiver::start().await;
    receiver.set_behavior("/later", Behavior::StatusWithHeader(503, "retry-after", "1".to_owned()));
    let watched = lower_hex(node.account(1));
    register(&explorer_before, &receiver.url("/good"), &watched, &["tx", "removed"]).await;
    let later = register(&explorer_before, &receiver.url("/later"), &watched, &["tx", "removed"]).await;
    let pay = |amount: u64| {
        node.chain.send(0, TxKind::Call(node.account(1)), U256::from(amount), []).unwrap();
        node.chain.mine(None);
    };
    pay(1);
    receiver.wait_for("/good", 1).await;
    let waiting = receiver.wait_for("/later", 1).await.remove(0);
    eventually("the attempt is recorded", async || {
        let list: Vec<Value> = later.deliveries(&explorer_before).await;
        list[0]["attempts"].as_array().is_some_and(|attempts| !attempts.is_empty()).then_some(())
    })
    .await;
    explorer_before.stop().await;
    let folder = data.to_str().unwrap();

    age_index(data).unwrap();
    let (succeeded, message) = run_explorer(&["check", "--node", "--rpc", &node.url(), "--data", folder]).await;
    assert!(!succeeded && message.contains("older explorer") && message.contains("explorer run"), "{message}");
    let (succeeded, message) = run_explorer(&["keys", "list", "--data", folder]).await;
    assert!(succeeded && message.contains("active"), "records can be used: {message}");

    pay(2);
    kill_some(&node, data).await;
    receiver.set_behavior("/later", Behavior::Status(200));
    let upgraded = launch(&node, data).start().await;
    let answer = upgraded.client().send(upgraded.client().request("GET", "/api/v1/stats").header("X-API-Key", &key));
    assert_eq!(answer.await.status, 200, "its key is valid at once");
    node.wait_for(&upgraded).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&upgraded, expected.address_names()).await.assert_equals(&expected, "the chain is complete");

    // The message that waited, and the payment meanwhile, arrive; what was delivered before is not sent again.
    let received = receiver.wait_for("/good", 2).await;
    receiver.expect_silence(&upgraded, "/good", 2).await;
    assert_eq!(received[1].json()["data"]["value"], json!("2"), "{}", received[1].body);
    let delivered = eventually("the message that waited", async || {
        let list = later.deliveries(&upgraded).await;
        list.iter().all(|delivery| delivery["status"] == "delivered").then_some(list)
    })
    .await;
    assert!(delivered.iter().any(|delivery| delivery["id"] == waiting.id()), "{delivered:?}");
    let left: Vec<_> = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("index.")), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_contract_outlives_an_index_of_an_earlier_version() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.verified_coin().await;
    let before = read_contracts(&fixture.explorer, &address).await;
    let (_, data) = fixture.explorer.stop().await;
    age_index(data.path()).unwrap();
    let upgraded = Launch::run(fixture.anvil.url()).on(data).start().await;
    fixture.anvil.wait_for(&upgraded).await;
    eventually("it is listed again", async || (read_contracts(&upgraded, &address).await == before).then_some(()))
        .await;
}

async fn dump(store: &PostgresStore) -> Vec<Record> {
    let (raw, mut records) = (store.raw_records(), Vec::new());
    for kind in RecordKind::ALL {
        records.extend(raw.read_records(kind, None, usize::MAX >> 1, 0).await.unwrap());
    }
    records
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_version_empties_the_index_of_a_database_and_keeps_the_records() {
    let server = Server::shared();
    let url = server.database().await;
    let identity = ChainIdentity { chain_id: 56, genesis_hash: B256::repeat_byte(1) };
    let before = {
        let store = open(&url).await;
        store.bind(identity, None).await.unwrap();
        leave_records(&store).await;
        dump(&store).await
    };
    let open_with = |older_index| open_as_next_version(&url, PostgresOptions { older_index, ..options() });
    for older in [OlderIndex::Refuse, OlderIndex::Leave] {
        let opened = open_with(older).await;
        let Err(OpenError::Store(StoreError::OlderSchema { stored, known })) = opened else { panic!("{opened:?}") };
        assert_eq!(known, stored + 1);
    }

    // While an explorer of this version indexes, nothing happens.
    let client = server.connect(&url).await;
    client.batch_execute("select pg_advisory_lock(x'6578706c00000002'::int8)").await.unwrap();
    let opened = open_with(OlderIndex::Replace).await;
    assert!(matches!(opened, Err(OpenError::Store(StoreError::Unavailable { .. }))), "{opened:?}");
    let count: i64 = client.query_one("select count(*) from explorer.address", &[]).await.unwrap().get(0);
    assert!(count > 0);
    client.batch_execute("select pg_advisory_unlock_all()").await.unwrap();

    // The locks of the store that left the records end with its connections.
    let store = eventually("the index is emptied", async || match open_with(OlderIndex::Replace).await {
        Err(OpenError::Store(StoreError::Unavailable { .. })) => None,
        opened => Some(opened.unwrap()),
    })
    .await;
    assert_eq!(store.reader().find_tip().await.unwrap(), None);
    assert_eq!((store.identity().await.unwrap(), store.bind(identity, None).await.unwrap()), (Some(identity), 0));
    let after = dump(&store).await;
    assert!(after == before, "{} and {} records", before.len(), after.len());
    let hooks = Store::webhook_records(&store, WebhookLimits::default());
    assert!(hooks.progress().await.unwrap().copied, "new events wait for the index");
    let (mut chain, mut blocks) = (RandomChain::new(6), Vec::<BlockChanges>::new());
    for _ in 0..60 {
        blocks.push(chain.next_block(blocks.last().map(|changes| &changes.block)));
    }
    store.writer().commit(blocks, Undo::Keep { down_to: 0 }).await.unwrap();
    let found = store.check().await.unwrap();
    // The server of the tests runs with `fsync=off`, which is the fault.
    assert_eq!((found.blocks, found.faults.len()), (60, 1), "{:?}", found.faults);
    assert!(dump(&store).await == before);

    let opened = PostgresStore::open(&url, options()).await;
    assert!(matches!(opened, Err(OpenError::Store(StoreError::NewerSchema { .. }))), "{opened:?}");
}
