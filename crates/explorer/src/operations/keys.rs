//! Lists, creates, limits and revokes API keys.

use std::fmt::Write;

use anyhow::Context;
use domain::{ApiKey, KeyDigest};
use store::UserRecords;

use crate::cli::KeysCommand;

/// Maximum keys listed without --owner.
const MAX_LISTED: u32 = 1_000;

/// What a command did.
pub(crate) struct Executed {
    /// To print.
    pub(crate) text: String,
    pub(crate) changed: Option<KeyDigest>,
}

impl Executed {
    fn changed(key: ApiKey) -> Self {
        Self { changed: Some(key.digest), text: table(&[key]) }
    }
}

pub(crate) async fn execute(records: &dyn UserRecords, command: KeysCommand) -> anyhow::Result<Executed> {
    match command {
        KeysCommand::List { owner } => {
            let keys = match owner {
                Some(owner) => records.list_keys(owner).await?,
                None => records.list_newest_keys(MAX_LISTED).await?,
            };
            Ok(Executed { text: table(&keys), changed: None })
        }
        KeysCommand::Create { owner, label } => {
            let issued = api::issue_key(records, owner, label, None, unix_time::millis()).await?;
            let text = format!("{}\n{}", issued.text.reveal(), table(&[issued.key]));
            Ok(Executed { text, changed: None })
        }
        KeysCommand::Limit { id, requests } => {
            let key = records.set_requests_per_minute(id, requests).await?;
            Ok(Executed::changed(key.with_context(|| no_such_key(id))?))
        }
        KeysCommand::Revoke { id } => {
            let key = records.revoke_key(id).await?;
            Ok(Executed::changed(key.with_context(|| no_such_key(id))?))
        }
    }
}

fn no_such_key(id: u64) -> String {
    format!("there is no key {id}: `explorer keys list` shows all keys")
}

fn table(keys: &[ApiKey]) -> String {
    let mut text = format!(
        "{:>6}  {:12}  {:42}  {:>10}  {:>12}  {:24}  {:7}  {}\n",
        "id", "prefix", "owner", "per minute", "requests", "last used", "state", "label"
    );
    for key in keys {
        let last_used = api::wire::Timestamp::from_unix_millis(key.last_used_at);
        let limit = match key.requests_per_minute {
            0 => "unlimited".to_owned(),
            limit => limit.to_string(),
        };
        let state = if key.active { "active" } else { "revoked" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>6}  {:12}  {:#x}  {limit:>10}  {:>12}  {last_used}  {state:7}  {}",
            key.id, key.prefix, key.owner, key.total_requests, key.label
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_with_their_headers() {
        let key = ApiKey {
            id: 7,
            digest: domain::KeyDigest::new([0; 32]),
            owner: domain::Address::repeat_byte(0xaa),
            prefix: "expl_4fT9kQz".to_owned(),
            label: "ci".to_owned(),
            requests_per_minute: 100,
            total_requests: 12_345,
            created_at: 0,
            last_used_at: 1_794_700_800_123,
            active: true,
        };
        let table = table(&[key]);
        let [heads, line] = table.lines().collect::<Vec<_>>()[..] else { panic!("{table}") };
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>()[..3],
            ["7", "expl_4fT9kQz", "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]
        );
        assert!(line.ends_with("2026-11-15T00:00:00.123Z  active   ci"), "{line}");
        for (head, value) in [("owner", "0xaa"), ("last used", "2026"), ("state", "active"), ("label", "ci")] {
            assert_eq!(heads.find(head), line.find(value), "{table}");
        }
    }
}
