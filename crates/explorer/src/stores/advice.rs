//! What an operator can do about a store that cannot be opened or used.

use std::path::Path;

use anyhow::anyhow;
use domain::ChainIdentity;
use store::StoreError;

use crate::config::location::Location;

pub(crate) fn explain_opening(error: StoreError, data: &Path) -> anyhow::Error {
    let data = data.display();
    let advice = match &error {
        StoreError::InUse => {
            format!("another explorer has {data} open: stop it, or use another folder with --data")
        }
        StoreError::NewerSchema { .. } | StoreError::NewerRecords { .. } => {
            format!("{data} was written by a newer explorer: use that one, or another folder with --data")
        }
        StoreError::OlderSchema { .. } => {
            format!(
                "the index in {data} was written by an older explorer: `explorer run` indexes the chain again, and keeps keys, \
                 webhooks and verified contracts (`explorer reindex` indexes it while the older one goes on serving)"
            )
        }
        StoreError::UnusableReindex { folder, .. } => format!(
            "the index in {data} was written by an older explorer, and `explorer reindex` has begun a new one: complete that one \
             and stop the command, or remove {folder}, then `explorer run` begins with an empty index"
        ),
        StoreError::Damaged { .. } | StoreError::Corrupt(_) => format!(
            "{data} is damaged: restore a backup, or run `explorer repair --data {data}` to drop unreadable data (it reports \
             what is lost), or index into an empty folder"
        ),
        _ => format!("cannot open the data folder {data}"),
    };
    anyhow!(error).context(advice)
}

/// A snapshot is also taken by the explorer that has the folder open.
pub(crate) fn explain_opening_to_snapshot(error: StoreError, data: &Path) -> anyhow::Error {
    match error {
        StoreError::InUse => anyhow!(error).context(format!(
            "an explorer has {} open and does not listen on its admin socket: give the socket with --admin-socket, or stop it \
             for the snapshot",
            data.display()
        )),
        other => explain_opening(other, data),
    }
}

pub(crate) fn explain_reindexing(error: StoreError, folder: &Path) -> anyhow::Error {
    let folder = folder.display();
    let advice = match &error {
        StoreError::InUse => format!("another `explorer reindex` fills {folder}"),
        StoreError::OlderSchema { .. } | StoreError::NewerSchema { .. } => {
            format!("another version has begun to fill {folder}: begin again with --from-scratch")
        }
        StoreError::Damaged { .. } | StoreError::Corrupt(_) => {
            format!("{folder} is damaged: begin again with --from-scratch")
        }
        _ => format!("cannot open {folder}"),
    };
    anyhow!(error).context(advice)
}

pub(crate) fn explain_restoring(error: StoreError, data: &Path) -> anyhow::Error {
    let data = data.display();
    let advice = match &error {
        StoreError::NotEmpty { .. } => "a snapshot is restored to an empty folder: give one with --data".to_owned(),
        StoreError::InUse => format!("an explorer has {data} open: give an empty folder with --data"),
        StoreError::Damaged { .. } => "the snapshot is damaged: use another one".to_owned(),
        _ => format!("cannot restore the snapshot to {data}"),
    };
    anyhow!(error).context(advice)
}

/// Why the chain of a node is not that of a snapshot.
pub(crate) fn explain_bootstrapped(error: StoreError) -> anyhow::Error {
    let advice = match &error {
        StoreError::OtherChain { .. } => "the snapshot has another chain than the node: use one of this chain",
        StoreError::OtherStart { .. } => {
            "the snapshot begins at another block than --start-block: leave one of them out"
        }
        _ => "cannot use the snapshot",
    };
    anyhow!(error).context(advice)
}

/// What to do if the node serves another chain than the indexed one.
pub(crate) fn advise_other_chain(location: &Location, indexed: &ChainIdentity, found: &ChainIdentity) -> String {
    let (name, other) = match location {
        Location::Folder(data) => (data.display().to_string(), "folder with --data"),
        Location::Database { .. } => ("the database".to_owned(), "database with --database"),
    };
    format!(
        "{name} holds another chain than the node's: it has {indexed}, the node is on {found}. Point --rpc at the right node, use \
         another {other}, or give --on-new-chain reset once, which drops the index and keeps keys, webhooks and verified sources"
    )
}

pub(crate) fn explain_binding(error: StoreError, location: &Location) -> anyhow::Error {
    let (name, other) = match location {
        Location::Folder(data) => (data.display().to_string(), "folder with --data"),
        Location::Database { .. } => ("the database".to_owned(), "database with --database"),
    };
    let advice = match &error {
        StoreError::OtherChain { stored, requested } => advise_other_chain(location, stored, requested),
        StoreError::OtherStart { stored, .. } => {
            format!("{name} begins at block {stored}: leave --start-block out, or use another {other}")
        }
        _ => format!("cannot use {name}"),
    };
    anyhow!(error).context(advice)
}
