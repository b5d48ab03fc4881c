//! Migrations, and the views for people.

use domain::{PageRequest, TransferFilter};
use store::{ChainReader, ChainWriter, StoreError, StorePart};
use store_conformance::Model;
use store_postgres::{OpenError, PostgresOptions, PostgresStore};

use crate::{
    processes::{KEEP, blocks, eventually},
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
    assert_eq!(count("select count(*) from logs").await, model.logs().count() as i64);
    let rows =
        client.query("select log_index, topic0, topic2, data, data_size from logs order by id", &[]).await.unwrap();
    for (row, (_, log)) in rows.iter().zip(model.logs()) {
        let topic = |place: usize| log.topics.get(place).map(|topic| topic.to_vec());
        assert_eq!(row.get::<_, i32>(0), log.log_index.cast_signed());
        assert_eq!((row.get::<_, Option<Vec<u8>>>(1), row.get::<_, Option<Vec<u8>>>(2)), (topic(0), topic(2)));
        let data = log.data.as_ref().map(|data| data.to_vec());
        assert_eq!((row.get::<_, Option<Vec<u8>>>(3), row.get::<_, i64>(4)), (data, log.data_size.into()));
    }
    assert_eq!(count("select count(*) from tokens").await, model.tokens().len() as i64);
    let held: usize = model.nfts().iter().map(|nft| nft.holders.len()).sum();
    assert_eq!(count("select count(*) from nfts").await, model.nfts().len() as i64);
    assert_eq!(count("select count(*) from nft_holders").await, held as i64);
    let given: usize = model.approvals().values().map(Vec::len).sum();
    assert_eq!(count("select count(*) from approvals").await, given as i64);
    assert!(count("select count(*) from trades").await > 0 && count("select count(*) from holders").await > 0);
    let newest = model.transactions().next_back().unwrap();
    let row = client
        .query_one("select hex(hash), hex(\"from\"), value::text from transactions order by id desc limit 1", &[]);
    let row = row.await.unwrap();
    let expected = (newest.hash.to_string(), format!("{:#x}", newest.from), newest.value.to_string());
    assert_eq!((row.get(0), row.get(1), row.get(2)), expected);
    let address = format!("{:#x}", newest.from);
    let sql = "select count(*) from address_transactions where address = bytes($1)";
    let listed: i64 = client.query_one(sql, &[&address]).await.unwrap().get(0);
    assert_eq!(listed, model.transactions().filter(|tx| tx.touches(&newest.from)).count() as i64);
}

/// The statements of a document, each with the text before it.
fn statements(document: &str) -> Vec<(String, String)> {
    let mut parts = document.split("```");
    let mut found = Vec::new();
    while let (Some(text), Some(block)) = (parts.next(), parts.next()) {
        let title = text.trim().lines().last().unwrap_or_default().to_owned();
        found.extend(block.strip_prefix("sql\n").map(|sql| (title, sql.to_owned())));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_questions_of_the_documentation_are_answered_to_a_role_that_can_only_read() {
    let server = Server::shared();
    let url = server.database().await;
    let store = open(&url).await;
    let (blocks, mut model) = (blocks(9, 120), Model::default());
    store.writer().commit(blocks.clone(), KEEP).await.unwrap();
    model.commit(blocks, KEEP);
    let mut writer = store.writer();
    while store::ContractDataWriter::rank_holders(&mut writer, 1_000).await.unwrap() > 0 {}
    let operator = server.connect(&url).await;
    let sql = "select explorer.hex(x.token), explorer.hex(x.\"to\") from explorer.transfers x join explorer.holders h
        on h.token = x.token and h.holder = x.\"to\" and h.balance > 0 join explorer.transactions t on t.\"to\" = x.\"to\"
        join explorer.transactions s on s.\"from\" = x.\"to\" limit 1";
    let row = operator.query_one(sql, &[]).await.unwrap();
    let (token, address): (String, String) = (row.get(0), row.get(1));

    let document = include_str!("../../../../docs/sql.md");
    let mut statements = statements(document).into_iter();
    let (_, role) = statements.next().unwrap();
    operator.batch_execute("drop role if exists analyst").await.unwrap();
    operator.batch_execute(&role).await.unwrap();
    let analyst = server.connect(&url.replace("explorer@", "analyst@")).await;
    let mut answered = 0;
    for (question, sql) in statements {
        let sql = sql.replace(":'address'", &format!("'{address}'")).replace(":'token'", &format!("'{token}'"));
        let sql = sql.replace(":first", "0").replace(":last", "1000");
        let rows = analyst.query(sql.trim().trim_end_matches(';'), &[]).await;
        let rows = rows.unwrap_or_else(|error| panic!("{question}: {error:?}"));
        assert!(!rows.is_empty(), "{question}");
        answered += 1;
    }
    assert_eq!(answered, 10);

    for refused in ["select * from api_key", "select * from webhook", "create table t (id int)"] {
        assert!(analyst.query(refused, &[]).await.is_err(), "{refused}");
    }
    operator.batch_execute("drop owned by analyst; drop role analyst").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_an_address_are_found_by_indexes() {
    let server = Server::shared();
    let url = server.database().await;
    let store = open(&url).await;
    store.writer().commit(blocks(10, 200), KEEP).await.unwrap();
    // The server counts changes a moment later.
    eventually("tables have grown", async || (store.analyze_grown().await.unwrap() > 0).then_some(())).await;
    eventually("none has grown since", async || (store.analyze_grown().await.unwrap() == 0).then_some(())).await;
    let client = server.connect(&url).await;
    client.batch_execute("set search_path = explorer; set enable_seqscan = off").await.unwrap();
    let address = "0x00000000000000000000000000000000000000aa";
    for view in ["address_transactions", "address_transfers"] {
        let sql = format!("explain select * from {view} where address = bytes('{address}')");
        let plan: Vec<String> = client.query(&sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        assert!(plan.contains("address_by_address") && !plan.contains("Seq Scan"), "{view}:\n{plan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_finds_missing_rows_and_broken_links() {
    let server = Server::shared();
    let url = server.database().await;
    let store = open(&url).await;
    let blocks = blocks(11, 60);
    let transactions: usize = blocks.iter().map(|changes| changes.transactions.len()).sum();
    store.writer().commit(blocks, KEEP).await.unwrap();
    let found = store.check().await.unwrap();
    assert_eq!((found.blocks, found.transactions), (60, transactions as u64));
    // The server of the tests runs with `fsync=off`.
    let faults: Vec<_> = found.faults.iter().map(|fault| (fault.found.as_str(), fault.part)).collect();
    assert_eq!(faults, [("fsync is off: a crash of the server can damage the database", StorePart::Settings)]);
    assert!(store.sizes().await.unwrap().iter().any(|size| size.table == "transaction" && size.heap > 0));

    let operator = server.connect(&url).await;
    let damage = "set search_path = explorer; delete from transaction where id = 3;
        update block set hash = '\\x00' where number = 20";
    operator.batch_execute(damage).await.unwrap();
    let faults = store.check().await.unwrap().faults;
    // With the setting: two about the transaction and one about its fee, and one about the link.
    assert_eq!(faults.len(), 5, "{faults:?}");
}
