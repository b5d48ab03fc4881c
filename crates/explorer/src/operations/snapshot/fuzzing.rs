//! Archives and manifests of arbitrary bytes.

use std::{
    collections::BTreeMap,
    io::Read,
    path::{Component, Path},
};

use fuzz_targets::{Plan, Target};
use serde_json::json;

use super::{
    archive::header,
    digest::{copy, hex},
    extract::{FileSink, copy_listed, extract_files},
    manifest::{self, ArchivedFile, Manifest},
};

/// Longest refusal, with its causes.
const MAX_REFUSAL: usize = 4_096;

/// Takes every file.
#[derive(Debug, Default, PartialEq)]
struct Memory(BTreeMap<String, Vec<u8>>);

impl FileSink for Memory {
    fn expect(&mut self, _: u64) -> anyhow::Result<()> {
        Ok(())
    }

    fn write(&mut self, from: &mut dyn Read, listed: &ArchivedFile) -> anyhow::Result<()> {
        let mut content = Vec::new();
        copy_listed(from, &mut content, listed)?;
        assert!(self.0.insert(listed.path.clone(), content).is_none(), "{} is written twice", listed.path);
        Ok(())
    }
}

/// An archive, a manifest, or the content of a file in an archive.
fn snapshot_archive(data: &[u8]) {
    let mut files = Memory::default();
    match extract_files(&mut &*data, &mut files) {
        Ok(manifest) => {
            check(&manifest);
            assert_eq!(files.0.keys().collect::<Vec<_>>(), sorted_paths(&manifest));
            let written = write(&serde_json::to_vec(&manifest).unwrap(), &manifest, &files);
            let mut again = Memory::default();
            assert_eq!(extract_files(&mut written.as_slice(), &mut again).unwrap(), manifest);
            assert_eq!(again, files);
        }
        Err(refusal) => is_printable(&refusal),
    }
    match Manifest::read(data) {
        Ok(manifest) => {
            check(&manifest);
            assert_eq!(Manifest::read(&serde_json::to_vec_pretty(&manifest).unwrap()).unwrap(), manifest);
        }
        Err(refusal) => is_printable(&refusal),
    }
    archived(data);
}

/// Only files of a snapshot, below its folder, and no two the same.
fn check(manifest: &Manifest) {
    let paths = sorted_paths(manifest);
    assert!(paths.windows(2).all(|pair| pair[0] != pair[1]), "{paths:?}");
    for path in paths {
        let path = Path::new(path);
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{}", path.display());
        let is_known = ["index", "durable-commit", "webhook-secrets.key"].iter().any(|known| path.starts_with(known));
        assert!(is_known, "{}", path.display());
    }
}

fn sorted_paths(manifest: &Manifest) -> Vec<&String> {
    let mut paths: Vec<_> = manifest.files.iter().map(|file| &file.path).collect();
    paths.sort_unstable();
    paths
}

/// Names in an archive cannot move the cursor of a terminal.
fn is_printable(refusal: &anyhow::Error) {
    let text = format!("{refusal:#}");
    assert!((1..=MAX_REFUSAL).contains(&text.len()), "{} bytes", text.len());
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// A file of any content is extracted as it was, from a whole archive alone.
fn archived(content: &[u8]) {
    let files = Memory(BTreeMap::from([
        ("durable-commit".to_owned(), vec![7; 8]),
        ("index/tables/1".to_owned(), content.to_vec()),
    ]));
    let listed = files.0.iter().map(|(path, content)| {
        let (bytes, digest) = copy(content.as_slice(), &mut std::io::sink()).unwrap();
        json!({ "path": path, "bytes": bytes, "sha256": hex(&digest) })
    });
    let text = json!({
        "format": "explorer-snapshot", "version": 1, "explorer": "0.1.0", "content": "index", "indexVersion": 1,
        "recordsVersion": 1, "chain": null, "tip": null, "commit": 7, "files": listed.collect::<Vec<_>>(),
    });
    let text = serde_json::to_vec(&text).unwrap();
    let manifest = Manifest::read(&text).unwrap();
    let archive = write(&text, &manifest, &files);
    let mut read = Memory::default();
    assert_eq!(extract_files(&mut archive.as_slice(), &mut read).unwrap(), manifest);
    assert_eq!(read, files);
    let content_begins = archive.len() - 1_024 - content.len().next_multiple_of(512);
    for cut in [content_begins, content_begins.saturating_sub(512), 512] {
        let refused = extract_files(&mut &archive[..cut], &mut Memory::default());
        assert!(refused.is_err() || (content.is_empty() && cut == content_begins), "cut to {cut} bytes");
    }
}

fn write(text: &[u8], manifest: &Manifest, files: &Memory) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.append(&header(manifest::NAME, text.len() as u64).unwrap(), text).unwrap();
    for ArchivedFile { path, bytes, .. } in &manifest.files {
        archive.append(&header(path, *bytes).unwrap(), files.0[path].as_slice()).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn what_anybody_may_have_written_is_extracted_as_it_is_listed_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/snapshot_archive");
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a whole number"));
    let plan = Plan {
        iterations: number("FUZZ_ITERATIONS").unwrap_or(5_000),
        seed: number("FUZZ_SEED").unwrap_or(1),
        failures: std::env::temp_dir().join("fuzz-failures"),
        save_inputs: false,
    };
    // Not in the table of targets, which is a library: this is a part of the binary.
    let target = Target { name: "snapshot_archive", run: snapshot_archive, iterations: plan.iterations };
    if let Err(failure) = fuzz_targets::run(target, &corpus, &plan) {
        panic!("{failure}");
    }
}
