//! `explorer contracts`: removes verified contracts.

use super::target::{self, Target};
use crate::{
    admin::paths,
    cli::ContractsOptions,
    operations::contracts,
    stores::{OlderIndex, Opening},
    terminal::print,
};

pub(crate) async fn run(options: ContractsOptions) -> anyhow::Result<()> {
    let text = match target::find(options.target).await? {
        Target::Running(client) => client.post(paths::CONTRACTS, &options.command).await?,
        Target::Stored(location) => {
            let store = Opening::of_command(&location, OlderIndex::Refuse).open().await?.store;
            contracts::execute(store.as_ref(), options.command).await?
        }
    };
    print(&text);
    Ok(())
}
