//! A server that fails, and comes back.

use std::time::Duration;

use store::{ChainReader, ChainWriter, Failure, UserRecords};
use store_conformance::RandomChain;
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
async fn a_promoted_standby_is_used_from_then_on() {
    let primary = Server::start();
    let standby = primary.start_standby();
    let own = primary.database().await;
    let name = own.rsplit('/').next().unwrap();
    // The standby first: what it refuses is not written there.
    let store = open(&format!("postgres://explorer@{},{}/{name}", standby.host(), primary.host())).await;
    let blocks = blocks(8, 3);
    let (mut writer, reader) = (store.writer(), store.reader());
    writer.commit(blocks[..2].to_vec(), KEEP).await.unwrap();
    let copied = standby.connect(&standby.url("postgres")).await;
    let written = primary.connect(&primary.url("postgres")).await;
    let position: String = written.query_one("select pg_current_wal_insert_lsn()::text", &[]).await.unwrap().get(0);
    eventually("the standby has the commit", async || {
        let sql = "select coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)";
        let caught_up: bool = copied.query_one(sql, &[&position]).await.unwrap().get(0);
        caught_up.then_some(())
    })
    .await;

    primary.kill();
    let failed = writer.commit(vec![blocks[2].clone()], KEEP).await.map_err(|error| error.failure());
    assert_eq!(failed, Err(Failure::Transient));
    standby.promote();
    let tip = eventually("the promoted server is written", async || writer.tip().await.ok()).await;
    assert_eq!(tip, Some(blocks[1].block.id()));
    writer.commit(vec![blocks[2].clone()], KEEP).await.unwrap();
    let tip = eventually("readers are back", async || reader.find_tip().await.ok()).await;
    assert_eq!(tip, Some(blocks[2].block.id()));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_encrypted_and_the_certificate_is_verified_on_request() {
    let (server, authority) = Server::start_with_tls();
    let port = server.port();
    let plain = server.database().await;
    let name = plain.rsplit('/').next().unwrap();
    let authority = authority.display().to_string().replace('/', "%2F");
    let open = async |host: &str, options: &str| {
        let url = format!("postgres://explorer@{host}:{port}/{name}?{options}");
        PostgresStore::open(&url, crate::server::options()).await
    };
    let trusted = format!("sslrootcert={authority}");
    for (host, options) in [
        ("localhost", "sslmode=prefer".to_owned()),
        ("localhost", "sslmode=require".to_owned()),
        ("localhost", format!("sslmode=verify-full&{trusted}")),
        ("127.0.0.1", format!("sslmode=verify-ca&{trusted}")),
    ] {
        let store = open(host, &options).await.unwrap();
        assert_eq!(store.reader().find_tip().await.unwrap(), None);
        let operator = server.connect(&server.url(name)).await;
        let sql =
            "select count(*), count(*) filter (where s.ssl) from pg_stat_activity a join pg_stat_ssl s using (pid)
            where a.application_name like 'explorer %' and a.client_addr is not null";
        let row = operator.query_one(sql, &[]).await.unwrap();
        let (all, encrypted): (i64, i64) = (row.get(0), row.get(1));
        assert!(all > 0 && encrypted == all, "{host} {options}: {encrypted} of {all}");
    }
    for (host, options, reason) in [
        ("127.0.0.1", format!("sslmode=verify-full&{trusted}"), "not valid for"),
        ("localhost", "sslmode=verify-full&sslrootcert=system".to_owned(), ""),
    ] {
        let error = open(host, &options).await.map(drop).unwrap_err();
        assert!(matches!(&error, OpenError::Tls(text) if text.contains(reason)), "{host} {options}: {error:?}");
    }

    let server = Server::shared();
    let without = server.database().await;
    let error = PostgresStore::open(&format!("{without}?sslmode=require"), crate::server::options()).await;
    let error = error.map(drop).unwrap_err();
    assert!(matches!(&error, OpenError::Tls(text) if text.contains("does not support TLS")), "{error:?}");
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

#[test]
fn connections_do_not_depend_on_the_runtime_that_asked_for_them() {
    let new_runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (main, background) = (new_runtime(), new_runtime());
    let server = Server::start();
    let store = main.block_on(async { open(&server.database().await).await });
    let read = |_| {
        let reader = store.reader();
        background.spawn(async move { reader.find_tip().await.unwrap() })
    };
    let reads: Vec<_> = (0..8).map(read).collect();
    background.block_on(async {
        for read in reads {
            assert_eq!(read.await.unwrap(), None);
        }
    });
    // All its threads are busy.
    for _ in 0..2 {
        background.spawn(async { std::thread::sleep(Duration::from_secs(30)) });
    }
    main.block_on(async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        for _ in 0..8 {
            let read = tokio::time::timeout(Duration::from_secs(10), store.reader().find_tip()).await;
            assert_eq!(read.expect("an answer in time").unwrap(), None);
        }
    });
    background.shutdown_background();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_free_connection_an_operation_fails_in_time_and_later_ones_succeed() {
    let server = Server::start();
    let url = server.database().await;
    let options = PostgresOptions { connections: 2, timeout: Duration::from_millis(300), ..crate::server::options() };
    let store = PostgresStore::open(&url, options).await.unwrap();
    store.writer().commit(blocks(7, 1), KEEP).await.unwrap();
    // Reads wait for a table, each with a connection.
    let mut operator = server.connect(&url).await;
    let blocking = operator.transaction().await.unwrap();
    blocking.batch_execute("lock table explorer.chain in access exclusive mode").await.unwrap();
    let reads: Vec<_> = (0..2)
        .map(|_| {
            let reader = store.reader();
            tokio::spawn(async move { reader.find_tip().await })
        })
        .collect();
    let observer = server.connect(&url).await;
    eventually("both wait", async || {
        let sql = "select count(*) from pg_locks where relation = 'explorer.chain'::regclass and not granted";
        let waiting: i64 = observer.query_one(sql, &[]).await.unwrap().get(0);
        (waiting == 2).then_some(())
    })
    .await;
    let started = std::time::Instant::now();
    let error = store.user_records().find_key(1).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(error.failure(), Failure::Transient);
    assert!(error.to_string().contains("no free connection to the database"), "{error}");
    blocking.rollback().await.unwrap();
    for read in reads {
        assert!(read.await.unwrap().unwrap().is_some());
    }
    assert_eq!(store.user_records().find_key(1).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_free_connections_is_waited_for() {
    let server = Server::start();
    let url = server.database().await;
    let operator = server.connect(&url).await;
    operator.batch_execute("alter database test0 connection limit 1; create role guest login").await.unwrap();
    operator.batch_execute("grant all on database test0 to guest").await.unwrap();
    let guest = url.replace("explorer@", "guest@");
    let error = PostgresStore::open(&guest, crate::server::options()).await.map(drop).unwrap_err();
    assert!(matches!(&error, OpenError::Store(error) if error.is_transient()), "{error:?}");
    assert!(error.to_string().contains("too many connections"), "{error}");
    operator.batch_execute("alter database test0 connection limit -1").await.unwrap();
    PostgresStore::open(&guest, crate::server::options()).await.unwrap();
}
