use std::fmt::Write;

use domain::BlockNumber;
use store::{Store, WebhookLimits};
use webhooks::EncryptionKey;

use crate::config::location::Location;

/// Says what was imported, and what the operator has to do next.
pub(super) async fn report(store: &dyn Store, file: &str, records: u64, to: &Location) -> anyhow::Result<String> {
    let webhooks = store.webhook_records(WebhookLimits::default());
    let has_webhooks = webhooks.totals().webhooks > 0;
    let cursor = webhooks.find_cursor().await?.map(|cursor| cursor.number).filter(|_| has_webhooks);
    let indexed = store.reader().find_tip().await?.map(|tip| tip.number);
    let mut text = format!("Imported all {records} records of {file} to {to}.\n");
    text.push_str(&describe_chain(indexed, cursor));
    if has_webhooks {
        text.push_str(&describe_key(to));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "If these are the records of another folder or database, run no explorer on that one from now on: it would send the \
             waiting messages a second time."
        );
    }
    let store = match to {
        Location::Folder(folder) => format!("--data {}", folder.display()),
        Location::Database { .. } => format!("--database {to}"),
    };
    let _ = writeln!(text, "Next: explorer run --rpc <your node> {store}");
    Ok(text)
}

fn describe_chain(indexed: Option<BlockNumber>, cursor: Option<BlockNumber>) -> String {
    let mut text = String::new();
    if indexed.is_none() {
        text.push_str("The chain is not in the file: `explorer run` indexes it from the node.\n");
    }
    if let Some(cursor) = cursor.filter(|cursor| indexed.is_none_or(|indexed| indexed < *cursor)) {
        let _ = writeln!(
            text,
            "Waiting messages of webhooks are sent at once. New events follow when block {cursor} is indexed: none is lost, \
             and none is sent twice."
        );
    }
    text
}

/// Secrets of webhooks are written as they are: encrypted.
fn describe_key(to: &Location) -> String {
    let file = EncryptionKey::FILE;
    let advice = match to {
        Location::Folder(folder) => format!("put the file {file} of the data folder before into {}", folder.display()),
        Location::Database { .. } => format!("keep --data, where the file {file} is"),
    };
    format!("The secrets of webhooks stay encrypted: {advice}, or give the same key with --webhook-encryption-key.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_what_happens_to_the_chain_and_to_events() {
        assert_eq!(describe_chain(Some(9), Some(9)), "", "nothing is left to be indexed");
        assert!(!describe_chain(None, None).contains("webhooks"));
        assert!(describe_chain(Some(3), Some(9)).starts_with("Waiting messages"));
        let text = describe_chain(None, Some(8));
        assert!(text.contains("explorer run") && text.contains("when block 8 is indexed"), "{text}");
    }
}
