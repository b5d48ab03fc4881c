//! Migrations, and the views for people.

use domain::{PageRequest, TransferFilter};
use store::{ChainReader, ChainWriter, StoreError, conformance::Model};
use store_postgres::{OpenError, PostgresOptions, PostgresStore};

use crate::{
    processes::{KEEP, blocks},
    server::{Server, open},
};

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_start_together_migrate_once() {
    let server = Server::shared();
    let url = server.database().await;
    let (one, two, three) = futures::join!(open(&url), open(&url), open(&url));
    for store in [one, two, three] {
        assert_eq!(store.reader().find_tip().await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_is_rejected() {
    let server = Server::shared();
    let url = server.database().await;
    drop(open(&url).await);
    let client = server.connect(&url).await;
    client.batch_execute("insert into explorer.schema_migration (number) values (1000)").await.unwrap();
    let opened = PostgresStore::open(&url, PostgresOptions::default()).await;
    let Err(OpenError::Store(StoreError::NewerSchema { stored: 1_000, known })) = opened else { panic!("{opened:?}") };
    assert!(known > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn views_show_what_the_store_returns() {
    let server = Server::shared();
    let url = server.database().await;
    let store = open(&url).await;
    let (blocks, mut model) = (blocks(7, 60), Model::default());
    store.writer().commit(blocks.clone(), KEEP).await.unwrap();
    model.commit(blocks, KEEP);
    let mut writer = store.writer();
    while store::ContractDataWriter::rank_holders(&mut writer, 1_000).await.unwrap() > 0 {}
    let client = server.connect(&url).await;
    client.batch_execute("set search_path = explorer").await.unwrap();
    let count = async |sql: &str| -> i64 { client.query_one(sql, &[]).await.unwrap().get(0) };
    let everything = PageRequest::newest(u32::MAX);
    let transfers = model.list_transfers(&TransferFilter::default(), everything);
    assert_eq!(count("select count(*) from blocks").await, 60);
    assert_eq!(count("select count(*) from transactions").await, model.transactions().count() as i64);
    assert_eq!(count("select count(*) from transfers").await, transfers.total as i64);
    assert_eq!(count("select count(*) from tokens").await, model.tokens().len() as i64);
    assert!(count("select count(*) from trades").await > 0 && count("select count(*) from holders").await > 0);
    let newest = model.transactions().next_back().unwrap();
    let row = client.query_one("select hash, \"from\", value::text from transactions order by id desc limit 1", &[]);
    let row = row.await.unwrap();
    let expected = (newest.hash.to_string(), format!("{:#x}", newest.from), newest.value.to_string());
    assert_eq!((row.get(0), row.get(1), row.get(2)), expected);
    let address = format!("{:#x}", newest.from);
    let sql = "select count(*) from address_transactions where address = $1";
    let listed: i64 = client.query_one(sql, &[&address]).await.unwrap().get(0);
    assert_eq!(listed, model.transactions().filter(|tx| tx.touches(&newest.from)).count() as i64);
}
