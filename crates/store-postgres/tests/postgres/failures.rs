//! A server that fails, and comes back.

use store::{ChainReader, ChainWriter, Failure, UserRecords, conformance::RandomChain};
use store_postgres::{OpenError, PostgresOptions, PostgresStore};

use crate::{
    processes::{KEEP, blocks, eventually},
    server::{Server, open},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_waited_for() {
    let server = Server::start();
    let store = open(&server.database().await).await;
    let blocks = blocks(6, 3);
    let (mut writer, reader) = (store.writer(), store.reader());
    writer.commit(vec![blocks[0].clone()], KEEP).await.unwrap();
    let before = reader.state();
    server.kill();
    let failed = writer.commit(vec![blocks[1].clone()], KEEP).await.map_err(|error| error.failure());
    assert_eq!(failed, Err(Failure::Transient));
    assert_eq!(reader.find_tip().await.map_err(|error| error.failure()), Err(Failure::Transient));
    eventually("no version without a server", async || reader.state().is_none().then_some(())).await;

    server.run_up();
    let tip = eventually("the server is back", async || writer.tip().await.ok()).await;
    assert_eq!(tip, Some(blocks[0].block.id()));
    writer.commit(vec![blocks[1].clone(), blocks[2].clone()], KEEP).await.unwrap();
    let tip = eventually("readers are back", async || reader.find_tip().await.ok()).await;
    assert_eq!(tip, Some(blocks[2].block.id()));
    let version = eventually("there is a version again", async || reader.state()).await;
    assert_ne!(Some(version), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_database_is_reported() {
    let opened = async |url: &str| PostgresStore::open(url, PostgresOptions::default()).await.map(|_| ()).unwrap_err();
    let unreachable = opened("postgres://explorer@%2Ftmp%2Fno-such-folder/test").await;
    assert!(matches!(&unreachable, OpenError::Store(error) if error.is_transient()), "{unreachable:?}");
    for invalid in ["", "explorer", "/srv/data", "http://127.0.0.1/test", "postgres://host:port/test", "x=y"] {
        let error = opened(invalid).await;
        assert!(matches!(error, OpenError::InvalidUrl(_)), "{invalid}: {error:?}");
    }

    let server = Server::shared();
    let error = opened(&server.url("no_such_database")).await;
    assert!(matches!(error, OpenError::NoDatabase(_)), "{error:?}");
    let url = server.database().await;
    let error = opened(&url.replace("explorer@", "nobody@")).await;
    assert!(matches!(error, OpenError::Refused(_)), "{error:?}");
    let operator = server.connect(&url).await;
    operator.batch_execute("drop role if exists guest; create role guest login").await.unwrap();
    let error = opened(&url.replace("explorer@", "guest@")).await;
    assert!(matches!(error, OpenError::MissingRights(_)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorg_does_not_change_user_records() {
    let server = Server::shared();
    let store = server.store().await;
    let (mut writer, records, mut chain) = (store.writer(), store.user_records(), RandomChain::new(3));
    let genesis = chain.next_block(None);
    let next = chain.next_block(Some(&genesis.block));
    writer.commit(vec![genesis.clone(), next], KEEP).await.unwrap();
    let key = records
        .add_key(domain::NewApiKey {
            digest: domain::KeyDigest::new([1; 32]),
            owner: domain::Address::repeat_byte(1),
            prefix: "expl_1".to_owned(),
            // A text value cannot contain NUL.
            label: "label\0".to_owned(),
            requests_per_minute: u32::MAX,
            created_at: u64::MAX,
            proof: None,
        })
        .await
        .unwrap();
    writer.revert_to(0).await.unwrap();
    assert_eq!(records.find_key(key.id).await.unwrap(), Some(key));
}
