//! `explorer admin`: commands for a running service.

use serde_json::json;

use super::target;
use crate::{
    admin::{client::AdminClient, paths, routes::LogChange},
    cli::{AdminCommand, AdminOptions},
    operations::audits::{BlocksCommand, TokenCommand},
    terminal::print,
};

pub(crate) async fn run(options: AdminOptions) -> anyhow::Result<()> {
    let path = target::socket(options.admin_socket, options.data)?;
    let client = AdminClient::connect(&path).await?;
    let text = match options.command {
        AdminCommand::Metrics => client.get(paths::METRICS).await?,
        AdminCommand::Reload => client.post(paths::RELOAD, &json!({})).await?,
        AdminCommand::Log { filter } => client.post(paths::LOG, &LogChange { filter }).await?,
        AdminCommand::Token { token, holders, repair } => {
            client.post(paths::TOKEN, &TokenCommand { token, holders, repair }).await?
        }
        AdminCommand::Blocks { from, to } => client.post(paths::BLOCKS, &BlocksCommand { from, to }).await?,
        AdminCommand::Compact => client.post(paths::COMPACT, &json!({})).await?,
    };
    print(&text);
    Ok(())
}
