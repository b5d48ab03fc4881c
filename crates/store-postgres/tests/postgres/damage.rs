//! Rows that a person or a fault has changed: what is wrong or missing is an error, not another value.

use domain::{Address, Bytes, DeliveryId, EventKind, LogFilter, NewDelivery, NewWebhook, PageRequest};
use store::{ChainReader, ChainWriter, LogReader, Store, StoreError, WebhookRecords};
use tokio_postgres::Client;

use crate::{
    processes::{KEEP, blocks},
    server::{Server, open},
};

fn assert_corrupt<T: std::fmt::Debug>(read: Result<T, StoreError>) {
    assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
}

async fn run(client: &Client, sql: &str) {
    client.batch_execute(&format!("set search_path = explorer; {sql}")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn half_of_a_tip_is_not_an_empty_index() {
    let server = Server::shared();
    let url = server.database().await;
    let (store, client) = (open(&url).await, server.connect(&url).await);
    store.writer().commit(blocks(7, 3), KEEP).await.unwrap();
    assert!(store.reader().find_tip().await.unwrap().is_some());
    run(&client, "update chain set tip_hash = null").await;
    assert_corrupt(store.reader().find_tip().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_reverted_below_no_transfers() {
    let server = Server::shared();
    let url = server.database().await;
    let (store, client) = (open(&url).await, server.connect(&url).await);
    let mut writer = store.writer();
    writer.commit(blocks(7, 60), KEEP).await.unwrap();
    let tip = writer.tip().await.unwrap();
    run(&client, "create table kept as select id, transfers from token; update token set transfers = 0").await;
    assert_corrupt(writer.revert_to(30).await);
    assert_eq!(writer.tip().await.unwrap(), tip);
    run(&client, "update token t set transfers = k.transfers from kept k where k.id = t.id; drop table kept").await;
    writer.revert_to(30).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_does_not_lose_a_topic() {
    let server = Server::shared();
    let url = server.database().await;
    let (store, client) = (open(&url).await, server.connect(&url).await);
    store.writer().commit(blocks(7, 60), KEEP).await.unwrap();
    let list = async || store.reader().list_logs(&LogFilter::default(), PageRequest::newest(100)).await;
    let logs = list().await.unwrap().page.items;
    assert!(logs.iter().any(|log| log.event.topics.is_empty()) && logs.iter().any(|log| log.event.topics.len() == 4));
    run(&client, "delete from log_topic").await;
    assert_corrupt(list().await);
}

fn new_webhook() -> NewWebhook {
    NewWebhook {
        owner: Address::repeat_byte(1),
        watched: Address::repeat_byte(2),
        created_at: 1_800_000_000_000,
        ..NewWebhook::sample()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_does_not_lose_a_message() {
    let server = Server::shared();
    let url = server.database().await;
    let (store, client) = (open(&url).await, server.connect(&url).await);
    let records = store.webhook_records();
    let webhook = records.add_webhook(new_webhook()).await.unwrap().id;
    let list = async || records.list_deliveries(webhook, PageRequest::newest(5)).await;
    assert_eq!(list().await.unwrap().total, 0);
    let sql = "insert into delivery_log (webhook, first, next, pending, dropped, reported) values";
    run(&client, &format!("{sql} ({webhook}, 1, 3, 0, 0, 0)")).await;
    assert_corrupt(list().await);
    run(&client, "update delivery_log set first = 3, next = 1").await;
    assert_corrupt(list().await);
    run(&client, "update delivery_log set first = 3, next = 3").await;
    assert_eq!(list().await.unwrap().total, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_not_deleted_while_messages_that_were_not_counted_may_use_it() {
    let server = Server::shared();
    let url = server.database().await;
    let (store, client) = (open(&url).await, server.connect(&url).await);
    let records = store.webhook_records();
    let webhook = records.add_webhook(new_webhook()).await.unwrap().id;
    let body = Bytes::from_static(b"{}");
    let id = DeliveryId::new([7; 16]);
    let delivery = NewDelivery { webhook, id, kind: EventKind::Ping, location: None, body };
    records.enqueue(delivery, 1_800_000_000_000).await.unwrap().unwrap();
    run(&client, "update event set uses = 0").await;
    assert_corrupt(records.drop_pending(webhook).await);
    run(&client, "update event set uses = 1").await;
    assert_eq!(records.drop_pending(webhook).await.unwrap(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_does_not_lose_events_or_secrets() {
    let server = Server::shared();
    let url = server.database().await;
    let (store, client) = (open(&url).await, server.connect(&url).await);
    let records = store.webhook_records();
    let webhook = records.add_webhook(new_webhook()).await.unwrap();
    for damage in ["events = 256", "events = 1 | 64", "events = -1", "events = 1, retired_until = '{5}'"] {
        run(&client, &format!("update webhook set {damage}")).await;
        assert_corrupt(records.find_webhook(webhook.id).await);
    }
    run(&client, "update webhook set events = 1, retired_until = '{}'").await;
    assert_eq!(records.find_webhook(webhook.id).await.unwrap(), Some(webhook));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_contract_that_is_missing_is_not_left_out() {
    let server = Server::shared();
    let url = server.database().await;
    let (store, client) = (open(&url).await, server.connect(&url).await);
    let verified = Store::verified_contracts(&store);
    assert_eq!(verified.list_verified(PageRequest::newest(5)).await.unwrap().items, []);
    let sql = "select rank_move('{3}'::int2[], '{0}'::int8[], '{0}'::numeric[],
        array[decode('0000000000000007', 'hex')], '{1}'::int4[])";
    run(&client, sql).await;
    assert_corrupt(verified.list_verified(PageRequest::newest(5)).await);
}
