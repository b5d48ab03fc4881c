//! `explorer check` reads everything, and says what a damaged index has lost and what to do.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{DevNode, Launch, TestExplorer, expected_state, explorer::DataFolder, read_api};

async fn explorer(data: &DataFolder, arguments: &[&str]) -> (i32, String) {
    let mut process = Launch::bare(arguments.iter().copied()).on(data).spawn();
    let status = process.ended().await;
    (status.code().unwrap(), process.stdout() + &process.stderr())
}

/// The largest table of each part of the index.
fn tables(data: &Path) -> Vec<PathBuf> {
    let keyspaces = fs::read_dir(data.join("index/keyspaces")).unwrap().map(|keyspace| keyspace.unwrap().path());
    let largest = keyspaces.filter_map(|keyspace| {
        let tables = fs::read_dir(keyspace.join("tables")).ok()?.map(|table| table.unwrap().path());
        tables.max_by_key(|table| table.metadata().unwrap().len())
    });
    largest.filter(|table| table.metadata().unwrap().len() > 10_000).collect()
}

fn flip_a_bit(file: &Path, position: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[position] ^= 0x10;
    fs::write(file, bytes).unwrap();
}

/// Damages a table where only a check reads it. Returns the position, and what the check says.
async fn damage(data: &DataFolder, table: &Path) -> (usize, String) {
    let bytes = usize::try_from(fs::metadata(table).unwrap().len()).unwrap();
    for position in (32..64).chain(1..32).map(|part| bytes * part / 64) {
        flip_a_bit(table, position);
        let (code, text) = explorer(data, &["check"]).await;
        if code == 2 {
            return (position, text);
        }
        // The first rows say which commit is the last one: without them, and without its index, a table does not open.
        assert!(code == 1 && text.contains("is damaged: restore a backup"), "{code}: {text}");
        flip_a_bit(table, position);
    }
    panic!("{} has nothing that only a check reads", table.display());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_is_found_and_the_index_is_filled_again() {
    // So many that no table is a single block of bytes, which opening reads.
    let (node, _) = DevNode::with_traffic(1_500).await;
    let before = TestExplorer::start(&node.url()).await;
    node.wait_for(&before).await;
    let (code, text) = explorer(before.data(), &["admin", "compact"]).await;
    assert_eq!(code, 0, "{text}");
    let (_, data) = before.stop().await;
    let (code, text) = explorer(&data, &["check"]).await;
    assert!(code == 0 && text.contains("form one chain, and all rows match"), "{text}");

    let (mut with_blocks, tables) = (None, tables(data.path()));
    assert!(tables.len() >= 3, "{tables:?}");
    for table in tables {
        let (position, text) = damage(&data, &table).await;
        for expected in
            ["rows of the table", "cannot be read: damaged data: bytes", "are intact", "explorer reindex", "snapshot"]
        {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains("panicked"), "{text}");
        flip_a_bit(&table, position);
        if text.contains("Blocks ") {
            with_blocks = Some((table, position));
        }
    }
    assert_eq!(explorer(&data, &["check"]).await.0, 0, "it is what it was");
    let (table, position) = with_blocks.expect("a table of blocks or of what they contain");
    flip_a_bit(&table, position);
    let (code, text) = explorer(&data, &["check", "--node", "--rpc", &node.url()]).await;
    assert!(code == 1 && text.contains("`explorer check` without --node says where"), "{text}");

    let (code, text) = explorer(&data, &["reindex", "--until-ready", "--rpc", &node.url()]).await;
    assert_eq!(code, 0, "{text}");
    let after = TestExplorer::start_on(&node.url(), &data).await;
    node.wait_for(&after).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&after, expected.address_names()).await.assert_equals(&expected, "the new index has everything");
    after.stop().await;
    let (code, text) = explorer(&data, &["check"]).await;
    assert_eq!(code, 0, "{text}");
    let (code, text) = explorer(&data, &["check", "--node", "--rpc", &node.url(), "--sample", "20"]).await;
    assert!(code == 0 && text.contains("20 blocks of blocks"), "{text}");
}
