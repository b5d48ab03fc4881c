//! Whether everything in a store can be read, and matches.

use std::fmt::Write;

use ingest::CompareError;
use store::{Store, StoreCheck, StoreError, StoreFault, StorePart};

use crate::{config::location::Location, terminal::print};

/// Reads all rows and prints what is wrong, and what to do. False if something is.
pub(super) async fn check(store: &dyn Store, location: &Location) -> anyhow::Result<bool> {
    let StoreCheck { blocks, transactions, faults } = store.check().await?;
    tracing::info!(blocks, transactions, "read all rows");
    let (settings, damage): (Vec<_>, Vec<_>) = faults.into_iter().partition(|fault| fault.part == StorePart::Settings);
    for setting in settings {
        print(&format!("Setting: {}.\n", setting.found));
    }
    if damage.is_empty() {
        return Ok(true);
    }
    print(&describe(&damage, location));
    Ok(false)
}

fn describe(faults: &[StoreFault], location: &Location) -> String {
    let mut text = String::new();
    for StoreFault { found, blocks, part } in faults {
        let place = match (blocks, part) {
            (Some(blocks), _) if blocks.start() == blocks.end() => format!("Block {}", blocks.start()),
            (Some(blocks), _) => format!("Blocks {} to {}", blocks.start(), blocks.end()),
            (None, StorePart::Records) => "Records".to_owned(),
            (None, _) => "Index".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{place}: {found}.");
    }
    text.push_str(&advice(faults.iter().any(|fault| fault.part == StorePart::Records), location));
    text
}

fn advice(records_are_damaged: bool, location: &Location) -> String {
    match (records_are_damaged, location) {
        (true, Location::Folder(data)) => format!(
            "Keys, webhooks, queued messages or verified contracts are damaged, and cannot be filled again: restore a snapshot to an \
             empty folder (explorer restore SNAPSHOT --data NEW), and use it in place of {}.\n",
            data.display()
        ),
        (false, Location::Folder(data)) => format!(
            "Keys, webhooks, queued messages and verified contracts are intact. Fill a new index beside this one, which may serve \
             meanwhile, with `explorer reindex --until-ready --rpc <your node> --data {}`: the next `explorer run` continues with \
             it. Or restore a snapshot.\n",
            data.display()
        ),
        (_, Location::Database { .. }) => {
            "Restore a backup, or index into an empty database with `explorer run` and bring the \
            records there with `explorer records export` and `import`.\n"
                .to_owned()
        }
    }
}

/// Damage is described by a check without the node.
pub(super) fn explain(error: anyhow::Error) -> anyhow::Error {
    let stored = match error.downcast_ref() {
        Some(CompareError::Store(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    if matches!(stored, Some(StoreError::Damaged { .. } | StoreError::Corrupt(_))) {
        return error.context("the index is damaged: `explorer check` without --node says where, and what to do");
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_their_blocks_and_what_to_do() {
        let fault = |blocks, part| StoreFault { found: "rows cannot be read".to_owned(), blocks, part };
        let folder = Location::Folder("/srv/explorer".into());
        let text = describe(&[fault(Some(5..=9), StorePart::Index), fault(None, StorePart::Index)], &folder);
        assert!(text.starts_with("Blocks 5 to 9: rows cannot be read.\nIndex: rows cannot be read.\nKeys,"), "{text}");
        assert!(text.contains("are intact") && text.contains("explorer reindex"), "{text}");
        let text = describe(&[fault(Some(5..=5), StorePart::Index), fault(None, StorePart::Records)], &folder);
        assert!(text.starts_with("Block 5: ") && text.contains("explorer restore"), "{text}");
        assert!(!text.contains("explorer reindex"), "{text}");
    }
}
