//! `explorer admin`: commands for a running service.

use serde_json::json;

use crate::{
    admin::{self, AdminClient, LogChange},
    audits::{BlocksCommand, TokenCommand},
    cli::{AdminCommand, AdminOptions},
    config, logging,
};

pub(crate) async fn run(options: AdminOptions) -> anyhow::Result<()> {
    let path = config::admin_socket(options.admin_socket, options.data)?;
    let client = AdminClient::connect(&path).await?;
    let text = match options.command {
        AdminCommand::Metrics => client.get(admin::METRICS).await?,
        AdminCommand::Reload => client.post(admin::RELOAD, &json!({})).await?,
        AdminCommand::Log { filter } => client.post(admin::LOG, &LogChange { filter }).await?,
        AdminCommand::Token { token, holders, repair } => {
            client.post(admin::TOKEN, &TokenCommand { token, holders, repair }).await?
        }
        AdminCommand::Blocks { from, to } => client.post(admin::BLOCKS, &BlocksCommand { from, to }).await?,
        AdminCommand::Compact => client.post(admin::COMPACT, &json!({})).await?,
    };
    logging::print(&text);
    Ok(())
}
