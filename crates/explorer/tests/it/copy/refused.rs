//! What cannot be copied is refused, with one message that says what to do.

use domain::ChainIdentity;
use store::{RecordCopy, Store};

use super::{copy, open_folder, text};
use crate::{
    postgres::{on_database, server::Server},
    support::{DevNode, Launch, TestExplorer, key_request::KeyRequest},
};

async fn is_refused(from: &str, to: &str, words: &[&str]) {
    let (succeeded, message) = copy(from, to).await;
    assert!(!succeeded, "{message}");
    assert!(words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_would_lose_or_mix_records_is_refused() {
    let server = Server::shared();
    let (database, other) = (server.database().await, server.database().await);
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    KeyRequest::by(&node.chain.accounts()[0]).key(explorer.client()).await;
    let in_use = text(explorer.data().path()).to_owned();
    is_refused(&in_use, &database, &["an explorer has", &in_use, "stop it"]).await;
    let (_, folder) = explorer.stop().await;
    let folder = text(folder.path()).to_owned();

    is_refused(&folder, &folder, &["same data folder", "--to"]).await;
    is_refused("/no/such/folder", &database, &["no data folder", "/no/such/folder"]).await;
    is_refused(&folder, "postgres://explorer@127.0.0.1:1/none", &["database"]).await;

    // On a database, an explorer with its own records.
    let explorer = on_database(Launch::run(&node.url()), &database).start().await;
    node.wait_for(&explorer).await;
    KeyRequest::by(&node.chain.accounts()[1]).key(explorer.client()).await;
    is_refused(&folder, &database, &["an explorer has", "stop it"]).await;
    is_refused(&database, &folder, &["an explorer has", "stop it"]).await;
    explorer.stop().await;
    is_refused(&folder, &database, &["of its own", "--to"]).await;
    is_refused(&database, &folder, &["of its own", "--to"]).await;
    is_refused(&database, &database, &["same store", "--to"]).await;

    // Another chain.
    let elsewhere = tempfile::tempdir().unwrap();
    let identity = ChainIdentity { chain_id: 99, genesis_hash: domain::B256::ZERO };
    open_folder(elsewhere.path()).await.bind(identity, None).unwrap();
    is_refused(&folder, text(elsewhere.path()), &["another chain", "--to"]).await;

    // A newer schema.
    let client = server.connect(&database).await;
    client.batch_execute("insert into explorer.schema_migration (number) values (1000)").await.unwrap();
    is_refused(&folder, &database, &["newer explorer"]).await;
    let (succeeded, message) = copy(&folder, &other).await;
    assert!(succeeded, "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explorer_does_not_start_on_an_unfinished_copy() {
    let server = Server::shared();
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let key = KeyRequest::by(&node.chain.accounts()[0]).key(explorer.client()).await;
    let (_, folder) = explorer.stop().await;
    let (url, empty) = (server.database().await, tempfile::tempdir().unwrap());
    {
        let (source, target) = (open_folder(folder.path()).await, crate::postgres::server::open(&url).await);
        let (from, to) = (source.record_transfer(), target.record_transfer());
        let name = text(folder.path());
        RecordCopy::begin(&*from, &*to, name, "one".to_owned()).await.unwrap().step(0).await.unwrap();
    }
    let (status, message) = on_database(Launch::run(&node.url()), &url).fails_to_start().await;
    assert_eq!(status.code(), Some(1), "{message}");
    assert!(message.contains("not complete") && message.contains("explorer copy --from"), "{message}");
    is_refused(&url, text(empty.path()), &["unfinished copy"]).await;
    let other = tempfile::tempdir().unwrap();
    drop(open_folder(other.path()).await);
    is_refused(text(other.path()), &url, &["unfinished copy", "--from", text(folder.path())]).await;

    let (succeeded, message) = copy(text(folder.path()), &url).await;
    assert!(succeeded && message.contains("going on"), "{message}");
    let explorer = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&explorer).await;
    let client = explorer.client();
    let answer = client.send(client.request("GET", "/api/v1/stats").header("X-API-Key", &key)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}
