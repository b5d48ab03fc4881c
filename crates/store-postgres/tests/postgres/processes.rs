//! Two stores on one database, as two processes have them.

use std::time::{Duration, Instant};

use domain::{B256, BlockChanges, ChainIdentity, JobId};
use store::{ChainReader, ChainWriter, Failure, SharedJobs, StoreError, Undo};
use store_conformance::RandomChain;

use crate::server::{Server, open};

pub(crate) const KEEP: Undo = Undo::Keep { down_to: 0 };
/// For what happens soon, unless the machine is busy.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A chain of some blocks.
pub(crate) fn blocks(seed: u64, count: usize) -> Vec<BlockChanges> {
    let mut chain = RandomChain::new(seed);
    let mut blocks: Vec<BlockChanges> = Vec::new();
    for _ in 0..count {
        let block = chain.next_block(blocks.last().map(|changes| &changes.block));
        blocks.push(block);
    }
    blocks
}

pub(crate) async fn eventually<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        assert!(started.elapsed() < MAX_WAIT, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_sees_a_commit_and_learns_its_version() {
    let server = Server::shared();
    let url = server.database().await;
    let (indexer, serving) = (open(&url).await, open(&url).await);
    let (reader, before) = (serving.reader(), serving.reader().state());
    assert!(before.is_some());
    let blocks = blocks(3, 2);
    indexer.writer().commit(blocks.clone(), KEEP).await.unwrap();
    assert_eq!(reader.find_tip().await.unwrap(), Some(blocks[1].block.id()));
    let version = eventually("the version changes", async || reader.state().filter(|now| Some(*now) != before)).await;
    assert_eq!(indexer.reader().state(), Some(version), "both have the same version");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_indexer_stands_by_and_takes_over() {
    let server = Server::shared();
    let url = server.database().await;
    let (first, second) = (open(&url).await, open(&url).await);
    let blocks = blocks(4, 3);
    let (mut writer, mut standby) = (first.writer(), second.writer());
    writer.commit(vec![blocks[0].clone()], KEEP).await.unwrap();
    let refused = standby.tip().await;
    assert!(matches!(refused, Err(StoreError::InUse)), "{refused:?}");

    // The first one loses its connection, and cannot get it back in time.
    let operator = server.connect(&url).await;
    let sql = "select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database() and l.granted";
    assert_eq!(operator.query(sql, &[]).await.unwrap().len(), 1);
    let tip = eventually("the standby takes over", async || standby.tip().await.ok()).await;
    assert_eq!(tip, Some(blocks[0].block.id()));
    standby.commit(vec![blocks[1].clone()], KEEP).await.unwrap();

    // While the second one lives, the first one waits; afterwards it knows that it was replaced.
    let refused = writer.commit(vec![blocks[1].clone()], KEEP).await.map_err(|error| error.failure());
    assert_eq!(refused, Err(Failure::Transient));
    drop((standby, second));
    let failure = eventually("the first one is replaced", async || {
        let failure = writer.commit(vec![blocks[2].clone()], KEEP).await.unwrap_err().failure();
        (failure != Failure::Transient).then_some(failure)
    })
    .await;
    assert_eq!(failure, Failure::WriterReplaced);
    assert_eq!(first.reader().find_tip().await.unwrap(), Some(blocks[1].block.id()));
    let mut writer = first.writer();
    writer.commit(vec![blocks[2].clone()], KEEP).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_without_work_shows_that_it_runs() {
    let server = Server::shared();
    let url = server.database().await;
    let store = open(&url).await;
    let operator = server.connect(&url).await;
    let sql = "select count(*), max(beaten_at)::text from explorer.heartbeat";
    let heartbeat = async || operator.query_one(sql, &[]).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(heartbeat().await.get::<_, i64>(0), 0, "a process without the writer");
    store.writer().commit(vec![blocks(4, 1)[0].clone()], KEEP).await.unwrap();
    for _ in 0..2 {
        let before: String = heartbeat().await.get(1);
        eventually("a heartbeat", async || (heartbeat().await.get::<_, String>(1) != before).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_cut_off_in_the_middle_of_a_commit_changes_nothing() {
    let server = Server::shared();
    let url = server.database().await;
    let store = open(&url).await;
    let blocks = blocks(5, 3);
    let mut writer = store.writer();
    writer.commit(vec![blocks[0].clone()], KEEP).await.unwrap();

    // The commit waits for a table in the middle of its work.
    let mut operator = server.connect(&url).await;
    let blocking = operator.transaction().await.unwrap();
    blocking.batch_execute("lock table explorer.block in exclusive mode").await.unwrap();
    let committing = tokio::spawn(async move {
        let result = writer.commit(vec![blocks[1].clone(), blocks[2].clone()], KEEP).await;
        (writer, blocks, result)
    });
    let observer = server.connect(&url).await;
    let pid: i32 = eventually("the commit waits", async || {
        let sql = "select pid from pg_locks where relation = 'explorer.block'::regclass and not granted";
        observer.query(sql, &[]).await.unwrap().first().map(|row| row.get(0))
    })
    .await;
    observer.execute("select pg_terminate_backend($1)", &[&pid]).await.unwrap();
    let (mut writer, blocks, result) = committing.await.unwrap();
    assert_eq!(result.map_err(|error| error.failure()), Err(Failure::Transient));
    blocking.rollback().await.unwrap();

    // The same writer continues: nobody took over in the meantime.
    let tip = eventually("the connection is back", async || writer.tip().await.ok()).await;
    assert_eq!(tip, Some(blocks[0].block.id()));
    writer.commit(blocks[1..].to_vec(), KEEP).await.unwrap();
    assert_eq!(store.reader().find_tip().await.unwrap(), Some(blocks[2].block.id()));
}

#[tokio::test(flavor = "multi_thread")]
async fn data_belongs_to_one_chain() {
    let server = Server::shared();
    let url = server.database().await;
    let (one, other) = (open(&url).await, open(&url).await);
    let identity = |chain_id| ChainIdentity { chain_id, genesis_hash: B256::repeat_byte(1) };
    assert_eq!(one.identity().await.unwrap(), None);
    assert_eq!(one.bind(identity(56), Some(7)).await.unwrap(), 7);
    assert_eq!(other.bind(identity(56), None).await.unwrap(), 7);
    assert_eq!(other.identity().await.unwrap(), Some(identity(56)));
    assert!(matches!(other.bind(identity(57), None).await, Err(StoreError::OtherChain { .. })));
    assert!(matches!(other.bind(identity(56), Some(0)).await, Err(StoreError::OtherStart { stored: 7, .. })));
    let early = other.writer().commit(blocks(1, 1), KEEP).await;
    assert!(matches!(early, Err(StoreError::NotNextBlock { number: 0, tip: None })), "{early:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_equal_verification_runs_in_one_process_at_a_time() {
    let server = Server::shared();
    let url = server.database().await;
    let (one, two) = (open(&url).await.running_jobs(), open(&url).await.running_jobs());
    let [first, second, third] = [1, 2, 3].map(JobId::from_random);
    let (request, other) = (B256::repeat_byte(1), B256::repeat_byte(2));
    assert_eq!(one.begin(first, request).await.unwrap(), None);
    assert_eq!(two.begin(second, request).await.unwrap(), Some(first));
    assert_eq!(two.begin(third, other).await.unwrap(), None);
    for id in [first, second, third] {
        assert!(one.is_running(id).await.unwrap() && two.is_running(id).await.unwrap());
    }
    one.end(first).await.unwrap();
    assert!(!two.is_running(first).await.unwrap());
    assert_eq!(two.begin(second, request).await.unwrap(), None, "the first one has ended");

    // A process that ended renews nothing.
    let operator = server.connect(&url).await;
    let sql = "update explorer.running_verification set expires_at = now() - interval '1 second'";
    assert_eq!(operator.execute(sql, &[]).await.unwrap(), 2);
    assert!(!one.is_running(second).await.unwrap());
    two.renew(third).await.unwrap();
    assert!(one.is_running(third).await.unwrap());
    assert_eq!(one.begin(first, request).await.unwrap(), None);
    assert_eq!(one.begin(first, other).await.unwrap(), Some(third));
}
