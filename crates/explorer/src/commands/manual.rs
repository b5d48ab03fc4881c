//! Shell completions and manual pages, generated from the definition of the command line.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;

/// Prints what the shell has to load.
pub(crate) fn print_completions(shell: Shell) -> anyhow::Result<()> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    // Written at once, since the generator panics if its output is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    io::stdout().write_all(&script).context("cannot print the completions")
}

/// Writes one page for each command: `explorer.1`, `explorer-run.1` and so on.
pub(crate) fn write_pages(folder: &Path) -> anyhow::Result<()> {
    let write = || {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Cli::command(), folder)
    };
    write().with_context(|| format!("cannot write manual pages to {}", folder.display()))
}
