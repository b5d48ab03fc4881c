//! What cannot be moved is refused, with one message that says what to do.

use std::path::Path;

use domain::ChainIdentity;
use store::{RecordImport, Store};

use super::{export, import, move_records, open_folder, text};
use crate::{
    postgres::{
        on_database,
        server::{Server, open},
    },
    support::{DevNode, Launch, TestExplorer, key_request::KeyRequest},
};

async fn import_is_refused(file: &Path, to: &str, words: &[&str]) {
    is_refused(import(file, to).await, words);
}

fn is_refused((succeeded, message): (bool, String), words: &[&str]) {
    assert!(!succeeded, "{message}");
    assert!(words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_would_lose_or_mix_records_is_refused() {
    let server = Server::shared();
    let (database, other) = (server.database().await, server.database().await);
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    KeyRequest::by(&node.chain.accounts()[0]).key(explorer.client()).await;
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("records.ndjson");
    let (succeeded, message) = export(text(explorer.data().path()), &file).await;
    assert!(succeeded, "of a running explorer: {message}");
    let in_use = text(explorer.data().path()).to_owned();
    import_is_refused(&file, &in_use, &["an explorer has", &in_use, "stop it"]).await;
    let (_, folder) = explorer.stop().await;
    let folder = text(folder.path()).to_owned();

    let unused = files.path().join("unused");
    is_refused(export("/no/such/folder", &unused).await, &["no data folder", "/no/such/folder"]);
    import_is_refused(&file, "postgres://explorer@127.0.0.1:1/none", &["database"]).await;

    // On a database, an explorer with its own records.
    let explorer = on_database(Launch::run(&node.url()), &database).start().await;
    node.wait_for(&explorer).await;
    KeyRequest::by(&node.chain.accounts()[1]).key(explorer.client()).await;
    import_is_refused(&file, &database, &["an explorer has", "stop it"]).await;
    is_refused(export(&database, &unused).await, &["an explorer has", "stop it"]);
    explorer.stop().await;
    import_is_refused(&file, &database, &["of its own", "empty folder or database"]).await;
    is_refused(move_records(&database, &folder).await, &["of its own", "empty folder or database"]);

    // Another chain.
    let elsewhere = tempfile::tempdir().unwrap();
    let identity = ChainIdentity { chain_id: 99, genesis_hash: domain::B256::ZERO };
    open_folder(elsewhere.path()).await.bind(identity, None).unwrap();
    import_is_refused(&file, text(elsewhere.path()), &["another chain", "empty folder or database"]).await;

    // A newer schema.
    let client = server.connect(&database).await;
    client.batch_execute("insert into explorer.schema_migration (number) values (1000)").await.unwrap();
    import_is_refused(&file, &database, &["newer explorer"]).await;
    let (succeeded, message) = import(&file, &other).await;
    assert!(succeeded, "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explorer_does_not_start_on_an_unfinished_import() {
    let server = Server::shared();
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let key = KeyRequest::by(&node.chain.accounts()[0]).key(explorer.client()).await;
    let (_, folder) = explorer.stop().await;
    let (url, files) = (server.database().await, tempfile::tempdir().unwrap());
    let unfinished = RecordImport { id: "one".to_owned(), source: "a file".to_owned(), is_complete: false };
    open(&url).await.raw_records().save_import(Some(unfinished)).await.unwrap();
    let (status, message) = on_database(Launch::run(&node.url()), &url).fails_to_start().await;
    assert_eq!(status.code(), Some(1), "{message}");
    assert!(message.contains("a part of the records of a file") && message.contains("records import"), "{message}");
    is_refused(export(&url, &files.path().join("unused")).await, &["a part of the records of a file"]);

    let (succeeded, message) = move_records(text(folder.path()), &url).await;
    assert!(succeeded, "any file replaces what is not complete: {message}");
    let explorer = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&explorer).await;
    let client = explorer.client();
    let answer = client.send(client.request("GET", "/api/v1/stats").header("X-API-Key", &key)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}
