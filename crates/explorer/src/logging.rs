//! Logs to standard error, with levels that can be changed while the process runs.

mod repeats;

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::{
    Layer, Registry,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

use self::repeats::Repeats;
use crate::config::log::{LogConfig, LogFormat};

/// Changes what is logged while the service runs.
#[derive(Debug, Clone)]
pub(crate) struct LogFilter(reload::Handle<Targets, Registry>);

impl LogFilter {
    /// With the layer that it changes.
    pub(crate) fn new(filter: &str) -> anyhow::Result<(Self, reload::Layer<Targets, Registry>)> {
        let (layer, handle) = reload::Layer::new(parse(filter)?);
        Ok((Self(handle), layer))
    }

    pub(crate) fn set(&self, filter: &str) -> anyhow::Result<()> {
        self.0.reload(parse(filter)?).context("cannot change what is logged")
    }
}

/// Reads levels by part of the program, such as `ingest=debug,info`. Only errors without any.
fn parse(filter: &str) -> anyhow::Result<Targets> {
    let parts: Vec<&str> = filter.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Ok(Targets::new().with_default(LevelFilter::ERROR));
    }
    // A filter by span or field would be taken for the name of a part, and log nothing.
    anyhow::ensure!(!filter.contains('['), "invalid log filter `{filter}`: give levels, such as `ingest=debug,info`");
    parts.join(",").parse().with_context(|| format!("invalid log filter `{filter}`"))
}

/// Logs go to standard error; standard output is for results.
pub(crate) fn start(config: &LogConfig) -> anyhow::Result<LogFilter> {
    let (changeable, filter) = LogFilter::new(&config.filter)?;
    let repeats = Repeats::default();
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let lines = match config.format {
        LogFormat::Text => lines.with_filter(repeats.clone()).boxed(),
        LogFormat::Json => lines.json().with_filter(repeats.clone()).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    repeats.report();
    Ok(changeable)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_filter_has_a_level_for_everything_and_levels_for_parts() {
        let enabled = |filter: &str, target: &str, level: Level| parse(filter).unwrap().would_enable(target, &level);
        for filter in ["ingest=debug,info", " info , ingest=debug ,"] {
            assert!(enabled(filter, "ingest::follow", Level::DEBUG), "{filter}");
            assert!(enabled(filter, "api", Level::INFO) && !enabled(filter, "api", Level::DEBUG), "{filter}");
        }
        assert!(enabled("", "api", Level::ERROR) && !enabled("", "api", Level::WARN));
        assert!(!enabled("off", "api", Level::ERROR));
        for filter in ["no=such=filter", "api=loud", "[span]=debug", "api[{field}]=debug"] {
            let error = format!("{:#}", parse(filter).unwrap_err());
            assert!(error.contains("invalid log filter") && error.contains(filter), "{error}");
        }
    }
}
