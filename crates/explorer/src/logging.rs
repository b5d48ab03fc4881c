mod repeats;

use std::io::{IsTerminal, Write};

use anyhow::Context;
use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use self::repeats::Repeats;
use crate::config::LogConfig;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Logs go to the standard error; the standard output is for what was asked for.
pub(crate) fn start(config: &LogConfig) -> anyhow::Result<()> {
    let filter =
        EnvFilter::try_new(&config.filter).with_context(|| format!("`{}` is not a log filter", config.filter))?;
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

/// Says what went wrong, cause by cause, to a person.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  because: {cause}\n"));
    }
    // Nothing is left to be done where even that fails.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Writes to the standard output; a reader that went away is no error.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
