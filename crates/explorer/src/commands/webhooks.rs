//! `explorer webhooks`: lists, pauses and resumes webhooks, and drops their messages.

use store::WebhookLimits;

use super::target::{self, Target};
use crate::{
    admin::paths,
    cli::WebhooksOptions,
    operations::webhooks,
    stores::{OlderIndex, Opening},
    terminal::print,
};

pub(crate) async fn run(options: WebhooksOptions) -> anyhow::Result<()> {
    let text = match target::find(options.target).await? {
        Target::Running(client) => client.post(paths::WEBHOOKS, &options.command).await?,
        Target::Stored(location) => {
            // Kept open: a shared store notices changes as long as it is open.
            let store = Opening::of_command(&location, OlderIndex::Refuse).open().await?.store;
            let records = store.webhook_records(WebhookLimits::default());
            webhooks::execute(records.as_ref(), options.command).await?.text
        }
    };
    print(&text);
    Ok(())
}
