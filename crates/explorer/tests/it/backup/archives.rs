//! Snapshots as one file.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store_embedded::testing::age_index;
use tar::{Archive, EntryType, Header};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

use super::{running::Busy, text};
use crate::support::{DevNode, TestExplorer, explorer_command, run_explorer};

const MANIFEST: &str = "explorer-snapshot.json";

/// The files of an archive, as plain `tar` would list them.
fn files(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = Archive::new(archive);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (entry.path().unwrap().to_str().unwrap().to_owned(), content)
    });
    entries.collect()
}

/// One entry, also with a name that no archive should have.
fn append(to: &mut Vec<u8>, name: &str, kind: EntryType, size: u64, content: &[u8]) {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o600);
    if kind == EntryType::Symlink {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    to.extend_from_slice(header.as_bytes());
    to.extend_from_slice(content);
    to.resize(to.len().next_multiple_of(512), 0);
}

/// An archive of these files.
fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        append(&mut bytes, name, EntryType::Regular, content.len() as u64, content);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn manifest(files: &[(String, Vec<u8>)]) -> Value {
    assert_eq!(files[0].0, MANIFEST);
    serde_json::from_slice(&files[0].1).unwrap()
}

/// The same archive with another manifest.
fn with_manifest(files: &[(String, Vec<u8>)], change: impl FnOnce(&mut Value)) -> Vec<(String, Vec<u8>)> {
    let (mut files, mut said) = (files.to_vec(), manifest(files));
    change(&mut said);
    files[0].1 = serde_json::to_vec(&said).unwrap();
    files
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_of_a_running_explorer_is_restored_with_everything() {
    let busy = Busy::start().await;
    let (data, folder) = (busy.data(), tempfile::tempdir().unwrap());
    let (file, restored) = (folder.path().join("backup.tar"), folder.path().join("restored"));
    busy.pay();
    let (succeeded, message) = run_explorer(&["snapshot", "--data", text(&data), text(&file)]).await;
    assert!(succeeded && message.contains("keep it as private"), "{message}");
    let bytes = fs::read(&file).unwrap();
    assert!(message.contains(&format!("SHA-256: {}", sha256(&bytes))), "{message}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (succeeded, message) = run_explorer(&["snapshot", "--data", text(&data), text(&file)]).await;
    assert!(!succeeded && message.contains("new file"), "{message}");
    assert!(!data.join("archive.tmp").exists());
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "nothing but the file");

    let files = files(&bytes);
    let said = manifest(&files);
    assert_eq!((&said["format"], &said["content"]), (&json!("explorer-snapshot"), &json!("everything")));
    assert_eq!(said["chain"]["chainId"], busy.node.chain.chain_id());
    assert!(said["tip"]["number"].is_u64());
    assert!(files.iter().any(|(name, _)| name == "webhook-secrets.key"));
    for ((name, content), listed) in files[1..].iter().zip(said["files"].as_array().unwrap()) {
        assert_eq!((json!(name), json!(sha256(content))), (listed["path"].clone(), listed["sha256"].clone()));
    }

    let (succeeded, message) = run_explorer(&["restore", text(&file), "--data", text(&restored)]).await;
    assert!(succeeded && message.contains("Next: explorer run"), "{message}");
    busy.node.wait_for(&busy.explorer).await;
    busy.compare(&restored).await;
    let (succeeded, message) = run_explorer(&["restore", text(&file), "--data", text(&restored)]).await;
    assert!(!succeeded && message.contains("empty folder"), "{message}");

    // A client that does not read keeps others out.
    let mut slow = UnixStream::connect(data.join("admin.sock")).await.unwrap();
    let body = json!({ "content": "everything" }).to_string();
    let head = "POST /archive HTTP/1.1\r\nHost: admin\r\nContent-Type: application/json\r\n";
    slow.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    slow.read_exact(&mut [0; 12]).await.unwrap();
    let other = folder.path().join("other.tar");
    let (succeeded, message) = run_explorer(&["snapshot", "--data", text(&data), text(&other)]).await;
    assert!(!succeeded && message.contains("another snapshot"), "{message}");
    drop(slow);
    assert!(!other.exists());
}

/// The archive of a small chain that was indexed and stopped, through standard output.
async fn small_archive() -> (Vec<u8>, PathBuf, tempfile::TempDir) {
    let (node, _) = DevNode::with_traffic(30).await;
    let running = TestExplorer::start(&node.url()).await;
    node.wait_for(&running).await;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (succeeded, message) = run_explorer(&["snapshot", "--data", text(running.data().path()), text(&data)]).await;
    assert!(succeeded, "{message}");
    running.stop().await;
    let mut command = explorer_command();
    command.args(["snapshot", "--data", text(&data), "-"]);
    let output = crate::support::process::output(command).await;
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && note.contains(&sha256(&output.stdout)), "{note}");
    (output.stdout, data, folder)
}

async fn refused(archive: &[u8], folder: &Path, words: &str) {
    let (file, target) = (folder.join("bad.tar"), folder.join("target"));
    fs::write(&file, archive).unwrap();
    let (succeeded, message) = run_explorer(&["restore", text(&file), "--data", text(&target)]).await;
    assert!(!succeeded && message.contains(words), "{words}: {message}");
    let left: Vec<_> = fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "lock"), "{words}: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_that_were_cut_altered_or_forged_are_refused_and_leave_nothing() {
    let (whole, _, folder) = small_archive().await;
    let folder = folder.path();
    let files = files(&whole);
    assert_eq!(packed(&files).len(), whole.len());
    for end in [0, 300, 512, 700, whole.len() / 3, whole.len() / 2, whole.len() - 5_000] {
        refused(&whole[..end], folder, if end == 0 { "it is empty" } else { "it" }).await;
    }
    let at = whole.len() * 2 / 3;
    let mut altered = whole.clone();
    altered[at] ^= 1;
    refused(&altered, folder, "it").await;
    let mut content = files.clone();
    let largest = (1..files.len()).max_by_key(|index| files[*index].1.len()).unwrap();
    content[largest].1[40] ^= 1;
    refused(&packed(&content), folder, "was altered").await;
    refused(b"a text", folder, "it").await;
    refused(&packed(&[("notes.txt".to_owned(), b"hello".to_vec())]), folder, "not a snapshot").await;
    refused(&packed(&[&files[..], &files[1..2]].concat()), folder, "more files").await;
    refused(&packed(&[&files[..2], &files[1..]].concat()), folder, "is not what its manifest lists").await;
    refused(&packed(&[&files[..1], &files[2..]].concat()), folder, "is not what its manifest lists").await;
    refused(&[whole.clone(), vec![1; 3 << 20]].concat(), folder, "after its end").await;

    let forged = |change: fn(&mut Value)| packed(&with_manifest(&files, change));
    refused(&forged(|said| said["version"] = json!(2)), folder, "newer explorer").await;
    refused(&forged(|said| said["indexVersion"] = json!(1_000)), folder, "newer explorer").await;
    refused(&forged(|said| said["recordsVersion"] = json!(1_000)), folder, "newer explorer").await;
    refused(&forged(|said| said["format"] = json!("other")), folder, "not a snapshot").await;
    refused(&forged(|said| said["commit"] = json!(1)), folder, "not what its manifest says").await;
    refused(&forged(|said| said["tip"]["number"] = json!(1)), folder, "not what its manifest says").await;
    refused(&forged(|said| said["chain"]["chainId"] = json!(1)), folder, "not what its manifest says").await;
    refused(&forged(|said| said["files"][0]["bytes"] = json!(1_u64 << 60)), folder, "MB free").await;
    refused(&forged(|said| said["files"] = json!([])), folder, "no index").await;
    let twice = |said: &mut Value| said["files"][1] = said["files"][0].clone();
    refused(&forged(twice), folder, "twice").await;
    for path in ["../evil", "/tmp/evil", "index/../../evil", "admin.token", "compilers/solc"] {
        let mut files = with_manifest(&files, |said| said["files"][0]["path"] = json!(path));
        path.clone_into(&mut files[1].0);
        refused(&packed(&files), folder, "no part of a snapshot").await;
    }
    let twice: Vec<_> = std::iter::repeat_n(json!(u64::MAX), 2).collect();
    let huge = with_manifest(&files, |said| {
        for (index, size) in twice.iter().enumerate() {
            said["files"][index]["bytes"] = size.clone();
        }
    });
    refused(&packed(&huge), folder, "impossible sizes").await;

    // Entries of other kinds, in the place of a file or before it.
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Directory, EntryType::Fifo, EntryType::GNULongName] {
        let mut archive = Vec::new();
        append(&mut archive, MANIFEST, EntryType::Regular, files[0].1.len() as u64, &files[0].1);
        append(&mut archive, &files[1].0, kind, 0, b"");
        archive.extend(packed(&files[1..]));
        refused(&archive, folder, "is not what its manifest lists").await;
    }
    let mut archive = Vec::new();
    append(&mut archive, MANIFEST, EntryType::Regular, 1 << 50, b"{}");
    refused(&archive, folder, "manifest is too long").await;

    let target = folder.join("target");
    let mut command = explorer_command();
    let mut child = command
        .args(["restore", "-", "--data", text(&target)])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&whole).unwrap();
    assert!(child.wait().unwrap().success(), "the whole one is accepted, after all of these");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_of_an_older_version_is_restored_and_upgraded() {
    let (_, data, folder) = small_archive().await;
    age_index(&data).unwrap();
    let (file, restored) = (folder.path().join("old.tar"), folder.path().join("restored"));
    let (succeeded, message) = run_explorer(&["snapshot", "--data", text(&data), text(&file)]).await;
    assert!(succeeded, "{message}");
    let (succeeded, message) = run_explorer(&["restore", text(&file), "--data", text(&restored)]).await;
    assert!(succeeded, "{message}");
    let (succeeded, message) = run_explorer(&["check", "--data", text(&restored)]).await;
    assert!(!succeeded && message.contains("older explorer"), "{message}");
}
