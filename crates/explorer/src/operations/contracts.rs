//! Removes verified contracts.

use anyhow::{Context, bail};
use store::Store;

use crate::cli::ContractsCommand;

/// Returns the text to print.
pub(crate) async fn execute(store: &dyn Store, command: ContractsCommand) -> anyhow::Result<String> {
    let ContractsCommand::Remove { address } = command;
    let code_hash = store.reader().find_code_hash(address).await?;
    let code_hash = code_hash.with_context(|| format!("the index knows no contract at {address}"))?;
    match store.verified_contracts().remove_verified(code_hash).await? {
        0 => bail!("the contract at {address} is not verified"),
        1 => Ok(format!("the sources of {address} are removed\n")),
        count => {
            Ok(format!("the sources of {address} and of {} other contracts with its code are removed\n", count - 1))
        }
    }
}
