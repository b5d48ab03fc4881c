//! Lists, pauses and resumes webhooks, and drops their messages.

use std::fmt::Write;

use anyhow::Context;
use domain::{Webhook, WebhookChange, WebhookId};
use store::{QueueCounts, WebhookRecords};

use crate::cli::WebhooksCommand;

/// Maximum webhooks listed without --owner.
const MAX_LISTED: u32 = 1_000;

/// What a command did.
pub(crate) struct Executed {
    /// To print.
    pub(crate) text: String,
    pub(crate) changed: Option<WebhookId>,
}

pub(crate) async fn execute(records: &dyn WebhookRecords, command: WebhooksCommand) -> anyhow::Result<Executed> {
    let set_active = async |id, active| {
        let change = WebhookChange { active: Some(active), ..WebhookChange::default() };
        let webhook = records.change_webhook(id, change).await?.with_context(|| no_such_webhook(id))?;
        Ok::<_, anyhow::Error>(Executed { text: table(records, &[webhook]).await?, changed: Some(id) })
    };
    match command {
        WebhooksCommand::List { owner } => {
            let webhooks = match owner {
                Some(owner) => records.list_webhooks(owner).await?,
                None => records.list_newest_webhooks(MAX_LISTED).await?,
            };
            Ok(Executed { text: table(records, &webhooks).await?, changed: None })
        }
        WebhooksCommand::Pause { id } => set_active(id, false).await,
        WebhooksCommand::Resume { id } => set_active(id, true).await,
        WebhooksCommand::Purge { id } => {
            let dropped = records.drop_pending(id).await?.with_context(|| no_such_webhook(id))?;
            Ok(Executed { text: format!("{dropped} pending messages dropped\n"), changed: Some(id) })
        }
    }
}

fn no_such_webhook(id: WebhookId) -> String {
    format!("there is no webhook {id}: `explorer webhooks list` shows all webhooks")
}

async fn table(records: &dyn WebhookRecords, webhooks: &[Webhook]) -> anyhow::Result<String> {
    let mut text = format!(
        "{:>6}  {:42}  {:42}  {:6}  {:>8}  {:>8}  {:>8}  {}\n",
        "id", "owner", "watched", "state", "pending", "dropped", "failures", "url"
    );
    for webhook in webhooks {
        let QueueCounts { pending, dropped } = records.queue_counts(webhook.id).await?;
        let state = if webhook.active { "active" } else { "paused" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>6}  {:#x}  {:#x}  {state:6}  {pending:>8}  {dropped:>8}  {:>8}  {}",
            webhook.id, webhook.owner, webhook.watched, webhook.fail_count, webhook.url
        );
    }
    Ok(text)
}
