//! A full disk and a corrupted disk.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::{
    support::{
        DevNode, Launch, TestExplorer, eventually, expected_state,
        key_request::{KeyRequest, now, owner_of},
        missing::{Facility, left_out},
        process::mount_namespace_arguments,
        read_api,
    },
    webhooks::send,
};

/// Fills the disk and returns the file that does.
fn fill(folder: &Path) -> PathBuf {
    let path = folder.join("filler");
    let mut file = fs::File::create(&path).unwrap();
    for bytes in [1 << 20, 1 << 12] {
        let chunk = vec![1; bytes];
        while file.write_all(&chunk).is_ok() {}
    }
    path
}

async fn waiting_for(explorer: &TestExplorer) -> Option<String> {
    let health = explorer.json("/health").await;
    assert_eq!(health["live"], true);
    health["waitingFor"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_full_disk_pauses_indexing_but_not_reads() {
    let Some(unshare) = mount_namespace_arguments() else {
        return left_out(Facility::Namespaces);
    };
    let (node, mut traffic) = DevNode::with_traffic_without_traces(60).await;
    let mount = "mount -t tmpfs -o size=48m tmpfs \"$EXPLORER_DATA\"";
    let launch = Launch::run(&node.url()).argument("--owner-access", "open");
    let explorer = launch.after_script(unshare, mount).start().await;
    node.wait_for(&explorer).await;
    let (client, signer) = (explorer.client(), &node.chain.accounts()[0]);
    KeyRequest::by(signer).key(client).await;
    let hook = json!({ "ownerAddress": owner_of(signer), "url": "https://receiver.example/" });
    assert_eq!(send(client, "POST", "/api/v1/webhooks", Some(hook)).await.status, 201);
    let tip = explorer.json("/health").await["tip"].clone();

    // Only that process sees the mount.
    let data = explorer.data().path();
    let seen = PathBuf::from(format!("/proc/{}/root{}", explorer.id(), data.display()));
    let filler = fill(&seen);
    let reason = eventually("the index to wait", async || {
        traffic.step().unwrap();
        node.chain.mine(None);
        waiting_for(&explorer).await
    })
    .await;
    assert_eq!(reason, "no space left on device");
    let health = explorer.json("/health").await;
    assert_eq!((&health["status"], &health["phase"]), (&"degraded".into(), &"waiting".into()), "{health}");
    assert_eq!(explorer.get("/health/live").await.status, 200);
    explorer.wait_for_log("no space left on device").await;
    let blocks = explorer.json("/api/v1/blocks?limit=1").await;
    assert!(blocks["blocks"][0]["number"].as_u64() >= tip["number"].as_u64(), "{blocks}");

    // What users write is refused and not half done, or done.
    let (mut keys, mut webhooks) = (1, 1);
    let write = async |at: u64| {
        let key = KeyRequest::at(signer, now() + at).send(client).await;
        let hook = json!({ "ownerAddress": owner_of(signer), "url": format!("https://receiver.example/{at}") });
        (key, send(client, "POST", "/api/v1/webhooks", Some(hook)).await)
    };
    let mut refused = 0;
    for at in 1..=3 {
        let (key, hook) = write(at).await;
        for (answer, made) in [(&key, &mut keys), (&hook, &mut webhooks)] {
            match answer.status {
                201 => *made += 1,
                _ => {
                    refused += 1;
                    assert_eq!(
                        (answer.status, &answer.json["code"]),
                        (503, &json!("store_unavailable")),
                        "{}",
                        answer.json
                    );
                    assert!(
                        !answer.header("retry-after").is_empty() && !answer.text.contains("space"),
                        "{}",
                        answer.text
                    );
                }
            }
        }
    }
    assert!(refused > 0, "the disk is full");
    let counts = async || {
        let owner = owner_of(signer);
        let [keys, webhooks] = ["keys", "webhooks"].map(async |kind| {
            explorer.json(&format!("/api/v1/{kind}?owner={owner}")).await[kind].as_array().unwrap().len()
        });
        (keys.await, webhooks.await)
    };
    assert_eq!(counts().await, (keys, webhooks));

    fs::remove_file(filler).unwrap();
    node.wait_for(&explorer).await;
    let (key, hook) = write(100).await;
    assert_eq!((key.status, hook.status), (201, 201), "{} {}", key.text, hook.text);
    assert_eq!(counts().await, (keys + 1, webhooks + 1));
    assert_eq!(waiting_for(&explorer).await, None);
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

fn journal_of(data: &Path) -> PathBuf {
    let files = fs::read_dir(data.join("index")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "jnl")).max().unwrap()
}

fn flip_a_bit(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[used / 2] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_flipped_bit_before_an_acknowledged_key_prevents_the_start_until_repaired() {
    let (node, _) = DevNode::with_traffic_without_traces(120).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    KeyRequest::by(&node.chain.accounts()[0]).key(explorer.client()).await;
    let data = explorer.kill();
    flip_a_bit(&journal_of(data.path()));

    let (status, printed) = Launch::run(&node.url()).on(&data).fails_to_start().await;
    assert_eq!(status.code(), Some(1), "{printed}");
    assert!(printed.contains("is damaged") && printed.contains("explorer repair"), "{printed}");

    let mut repair = Launch::bare(["repair"]).on(&data).spawn();
    assert!(repair.ended().await.success(), "{}", repair.stderr());
    let printed = repair.stdout();
    assert!(printed.contains("API keys changed in the lost commits: 1"), "{printed}");
    assert!(printed.contains("are fetched again") && printed.contains("before-repair-"), "{printed}");

    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

#[tokio::test]
async fn blocks_lost_to_a_flipped_bit_are_fetched_again() {
    let (node, _) = DevNode::with_traffic_without_traces(120).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let data = explorer.kill();
    flip_a_bit(&journal_of(data.path()));
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    explorer.wait_for_log("unfinished commit").await;
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

#[tokio::test]
async fn only_the_owner_can_read_the_data_folder() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).after_script(&[], "umask 022").start().await;
    node.wait_for(&explorer).await;
    assert_eq!(open_to_others(explorer.data().path()), Vec::<PathBuf>::new());

    let (_, data) = explorer.stop().await;
    for path in [data.path().to_owned(), data.path().join("index"), journal_of(data.path())] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    assert_eq!(open_to_others(explorer.data().path()), Vec::<PathBuf>::new(), "an older folder is tightened");
}

fn open_to_others(path: &Path) -> Vec<PathBuf> {
    let metadata = fs::symlink_metadata(path).unwrap();
    let mut found = Vec::new();
    if metadata.permissions().mode() & 0o077 != 0 {
        found.push(path.to_owned());
    }
    if metadata.is_dir() {
        found.extend(fs::read_dir(path).unwrap().flat_map(|entry| open_to_others(&entry.unwrap().path())));
    }
    found
}
