//! `explorer keys`: manages the API keys of a running service, or in a data folder or database.

use super::target::{self, Target};
use crate::{
    admin::paths,
    cli::KeysOptions,
    operations::keys,
    stores::{OlderIndex, Opening},
    terminal::print,
};

pub(crate) async fn run(options: KeysOptions) -> anyhow::Result<()> {
    let text = match target::find(options.target).await? {
        Target::Running(client) => client.post(paths::KEYS, &options.command).await?,
        Target::Stored(location) => {
            // Kept open: a shared store notices changes as long as it is open.
            let store = Opening::of_command(&location, OlderIndex::Leave).open().await?.store;
            keys::execute(store.user_records().as_ref(), options.command).await?.text
        }
    };
    print(&text);
    Ok(())
}
