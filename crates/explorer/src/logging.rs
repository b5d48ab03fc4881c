mod repeats;

use std::io::{IsTerminal, Write};

use anyhow::Context;
use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

use self::repeats::Repeats;
use crate::config::LogConfig;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Logs go to standard error; standard output is for results.
pub(crate) fn start(config: &LogConfig) -> anyhow::Result<()> {
    let filter =
        EnvFilter::try_new(&config.filter).with_context(|| format!("invalid log filter `{}`", config.filter))?;
    let repeats = Repeats::default();
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let lines = match config.format {
        LogFormat::Text => lines.with_filter(repeats.clone()).boxed(),
        LogFormat::Json => lines.json().with_filter(repeats.clone()).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    repeats.report();
    Ok(())
}

/// Prints an error with its causes.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  because: {cause}\n"));
    }
    // A failed write to standard error cannot be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Writes to standard output; a closed pipe is not an error.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
