//! `explorer records`: all records of a store in a file, and back.

mod exclusive;
mod export;
mod files;
mod import;
mod progress;

use super::target::{self, Target};
use crate::{
    cli::{RecordsCommand, RecordsOptions},
    config::{location, log::LogConfig},
    logging,
    process::shutdown,
};

pub(crate) async fn run(options: RecordsOptions) -> anyhow::Result<()> {
    logging::start(&LogConfig::of_command())?;
    let cancel = shutdown::on_signal()?;
    match options.command {
        RecordsCommand::Export { file } => match target::find(options.target).await? {
            Target::Running(client) => export::receive(client, &file, &cancel).await,
            Target::Stored(location) => export::export(&location, &file, &cancel).await,
        },
        RecordsCommand::Import { file } => {
            let location = location::location(options.target.data, options.target.database)?;
            import::import(&location, &file, &cancel).await
        }
    }
}
