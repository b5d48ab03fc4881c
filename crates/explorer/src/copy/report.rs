use std::fmt::Write;

use domain::BlockNumber;
use store::{RecordCopy, Store, WebhookLimits};
use webhooks::EncryptionKey;

use crate::config::Location;

/// Says what was copied, and what the operator has to do next.
pub(super) async fn report(
    copy: &RecordCopy<'_>,
    source: &dyn Store,
    target: &dyn Store,
    from: &Location,
    to: &Location,
) -> anyhow::Result<String> {
    let webhooks = target.webhook_records(WebhookLimits::default());
    let cursor = webhooks.find_cursor().await?.map(|cursor| cursor.number);
    let indexed = target.reader().find_tip().await?.map(|tip| tip.number);
    let known = source.reader().find_tip().await?.map(|tip| tip.number);
    let has_webhooks = webhooks.totals().webhooks > 0;
    let mut text = format!("Copied all {} records from {from} to {to}.\n", copy.copied());
    text.push_str(&describe_chain(indexed, known, cursor.filter(|_| has_webhooks)));
    if has_webhooks {
        text.push_str(&describe_key(from, to));
    }
    let _ = writeln!(
        text,
        "From now on, use only the copy: an explorer on {from} would send the waiting messages a second time."
    );
    let store = match to {
        Location::Folder(folder) => format!("--data {}", folder.display()),
        Location::Database { .. } => format!("--database {to}"),
    };
    let _ = writeln!(text, "Next: explorer run --rpc <your node> {store}");
    Ok(text)
}

fn describe_chain(indexed: Option<BlockNumber>, known: Option<BlockNumber>, cursor: Option<BlockNumber>) -> String {
    let mut text = String::new();
    let Some(known) = known.filter(|known| indexed.is_none_or(|indexed| indexed < *known)) else { return text };
    let _ = writeln!(
        text,
        "The chain was not copied: `explorer run` indexes it again from the node, up to block {known} and on."
    );
    if let Some(cursor) = cursor {
        let _ = writeln!(
            text,
            "Waiting messages of webhooks are sent at once. New events follow when block {cursor} is indexed: none is lost, \
             and none is sent twice."
        );
    }
    text
}

/// Secrets of webhooks are copied as they are: encrypted.
fn describe_key(from: &Location, to: &Location) -> String {
    let file = EncryptionKey::FILE;
    let given = "give the same key with --webhook-encryption-key";
    let advice = match (from, to) {
        (Location::Folder(from), Location::Folder(to)) => {
            format!("copy the file {} into {}, or {given}", from.join(file).display(), to.display())
        }
        (Location::Folder(from), Location::Database { .. }) => {
            format!("keep --data {0}, where the file {file} is, or {given}", from.display())
        }
        (Location::Database { .. }, Location::Folder(to)) => {
            format!("put the file {file} from the data folder of the source into {}, or {given}", to.display())
        }
        (Location::Database { .. }, Location::Database { .. }) => {
            format!("keep --data, where the file {file} is, or {given}")
        }
    };
    format!("The secrets of webhooks stay encrypted: {advice}.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_behind_is_told_what_happens_to_the_chain_and_to_events() {
        assert_eq!(describe_chain(Some(9), Some(9), Some(9)), "", "nothing is left to be indexed");
        assert_eq!(describe_chain(None, None, None), "");
        let text = describe_chain(None, Some(9), Some(8));
        assert!(text.contains("up to block 9") && text.contains("when block 8 is indexed"), "{text}");
        assert!(!describe_chain(Some(3), Some(9), None).contains("webhooks"));
    }
}
