//! What is logged, and how.

use clap::ValueEnum;
use serde::Deserialize;

use super::options::options;

const DEFAULT_FILTER: &str = "info";

options! {
    /// What is logged, and how.
    pub(crate) struct LogOptions {
        /// What to log, such as `info` or `ingest=debug,warn` [default: info]
        #[arg(long, env = "EXPLORER_LOG", value_name = "FILTER")]
        pub(crate) log: Option<String>,

        /// Log format [default: text]
        #[arg(long, env = "EXPLORER_LOG_FORMAT", value_name = "FORMAT", hide_short_help = true)]
        pub(crate) log_format: Option<LogFormat>,
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug)]
pub(crate) struct LogConfig {
    pub(crate) filter: String,
    pub(crate) format: LogFormat,
}

impl LogConfig {
    /// Of a command that ends by itself: warnings, and what it does.
    pub(crate) fn of_command() -> Self {
        Self { filter: "warn,explorer=info".to_owned(), format: LogFormat::Text }
    }
}

impl LogOptions {
    pub(crate) fn config(&self) -> LogConfig {
        LogConfig {
            filter: self.log.clone().unwrap_or_else(|| DEFAULT_FILTER.to_owned()),
            format: self.log_format.unwrap_or_default(),
        }
    }
}
