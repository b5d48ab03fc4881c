//! The first file of an archive: what it is, and the checksum of each file that follows.

use std::collections::BTreeSet;

use anyhow::{bail, ensure};
use domain::{B256, BlockNumber};
use serde::{Deserialize, Serialize};
use store::FileChain;
use webhooks::EncryptionKey;

use super::content::Content;
use crate::stores::{self, Inspected};

pub(super) const NAME: &str = "explorer-snapshot.json";
/// Some 700 tables of 64 MB have a manifest of 100 kB.
pub(super) const MAX_BYTES: u64 = 64 << 20;
const FORMAT: &str = "explorer-snapshot";
/// Increased by every change that other versions cannot read.
const VERSION: u32 = 1;
const INDEX: &str = "index";
const WATERMARK: &str = "durable-commit";
/// Of a path, with its folders.
const MAX_PARTS: usize = 6;
/// So that it fits the header of a file in an archive.
const MAX_PATH_BYTES: usize = 99;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    format: String,
    version: u32,
    /// The version of the explorer that wrote it.
    explorer: String,
    pub(crate) content: Content,
    pub(crate) index_version: u32,
    records_version: u32,
    chain: Option<FileChain>,
    pub(crate) tip: Option<ArchivedTip>,
    commit: u64,
    pub(super) files: Vec<ArchivedFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchivedTip {
    pub(crate) number: BlockNumber,
    pub(crate) hash: B256,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArchivedFile {
    /// Relative to the data folder.
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

impl Manifest {
    pub(super) fn new(content: Content, found: &Inspected, files: Vec<ArchivedFile>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            explorer: env!("CARGO_PKG_VERSION").to_owned(),
            content,
            index_version: found.index_version,
            records_version: found.records_version,
            chain: found.chain.map(|(identity, start_block)| FileChain {
                chain_id: identity.chain_id,
                genesis_hash: identity.genesis_hash,
                start_block,
            }),
            tip: found.tip.map(|tip| ArchivedTip { number: tip.number, hash: tip.hash }),
            commit: found.commit,
            files,
        }
    }

    /// Reads and checks one that anybody may have written.
    pub(super) fn read(bytes: &[u8]) -> anyhow::Result<Self> {
        /// What every version has.
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let Ok(head) = serde_json::from_slice::<Head>(bytes) else { bail!("its manifest cannot be read") };
        ensure!(head.format == FORMAT, "it is not a snapshot of an explorer");
        ensure!(head.version <= VERSION, "it was written by a newer explorer: use that one");
        let Ok(manifest) = serde_json::from_slice::<Self>(bytes) else { bail!("its manifest cannot be read") };
        let (index, records) = stores::VERSIONS;
        ensure!(
            manifest.index_version <= index && manifest.records_version <= records,
            "it was written by a newer explorer ({}): use that one",
            shown(&manifest.explorer)
        );
        manifest.check_files()?;
        Ok(manifest)
    }

    fn check_files(&self) -> anyhow::Result<()> {
        let mut seen = BTreeSet::new();
        for file in &self.files {
            let path = shown(&file.path);
            ensure!(is_allowed(&file.path, self.content), "it has a file that is no part of a snapshot: {path}");
            ensure!(seen.insert(file.path.as_str()), "it has the file {path} twice");
        }
        ensure!(self.total_bytes().is_some(), "its files have impossible sizes");
        ensure!(seen.contains(WATERMARK) && seen.len() > 1, "it has no index");
        Ok(())
    }

    /// None if it is more than a number can say.
    pub(super) fn total_bytes(&self) -> Option<u64> {
        self.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.bytes))
    }

    /// Whether the index is what the manifest says. The tip of an older version is not read.
    pub(super) fn check(&self, found: &Inspected) -> anyhow::Result<()> {
        let real = Self::new(self.content, found, Vec::new());
        let facts = |of: &Self| (of.index_version, of.records_version, of.chain, of.commit);
        let has_tip = self.index_version < stores::VERSIONS.0 || real.tip == self.tip;
        ensure!(facts(&real) == facts(self) && has_tip, "its index is not what its manifest says");
        Ok(())
    }
}

/// A part of a manifest in a message: it may be of any length, and contain codes that a terminal obeys.
fn shown(text: &str) -> String {
    text.chars().take(MAX_PATH_BYTES).flat_map(char::escape_debug).collect()
}

/// Only what a snapshot has: a data folder also has files that are executed, or that grant access.
fn is_allowed(path: &str, content: Content) -> bool {
    let is_name = |part: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        part.bytes().all(is_letter) && !part.trim_matches('.').is_empty()
    };
    let parts: Vec<&str> = path.split('/').collect();
    if path.len() > MAX_PATH_BYTES || parts.len() > MAX_PARTS || !parts.iter().all(|part| is_name(part)) {
        return false;
    }
    match parts[..] {
        [INDEX, _, ..] | [WATERMARK] => true,
        [EncryptionKey::FILE] => content == Content::Everything,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_snapshot_are_allowed() {
        for path in ["index/version", "index/keyspaces/1/tables/7", "durable-commit", "index/0.jnl"] {
            assert!(is_allowed(path, Content::Index), "{path}");
        }
        assert!(is_allowed("webhook-secrets.key", Content::Everything));
        for path in [
            "webhook-secrets.key",
            "index",
            "index/",
            "/index/a",
            "../index/a",
            "index/../a",
            "index/./a",
            "index//a",
            "",
            ".",
            "admin.token",
            "compilers/solc",
            "durable-commit/a",
            "index/a b",
            "index/a\0",
            "index\\a",
            "index/é",
            "index/1/2/3/4/5/6",
            "lock",
        ] {
            assert!(!is_allowed(path, Content::Index), "{path}");
        }
    }
}
