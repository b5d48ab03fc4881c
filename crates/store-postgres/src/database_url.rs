//! The URL of a database: where its servers are, and how connections to them are encrypted.

use std::sync::Arc;

use tokio_postgres::{
    Config, Error,
    config::{Host, SslMode, TargetSessionAttrs},
};

use crate::{
    chosen_server::Choice,
    open_error::OpenError,
    same_chain::{ConnectionCheck, Expected, Part},
    tls::{Tls, Verification},
};

/// Knows the options `sslmode` and `sslrootcert` of libpq; the client library has only some modes.
#[derive(Clone)]
pub(crate) struct DatabaseUrl {
    pub(crate) config: Config,
    pub(crate) tls: Tls,
    pub(crate) check: Arc<ConnectionCheck>,
    pub(crate) choice: Arc<Choice>,
}

impl DatabaseUrl {
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        let invalid = |reason: String| OpenError::InvalidUrl(reason);
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") && !url.contains('=') {
            return Err(invalid("it must start with postgres://".to_owned()));
        }
        let (url, mode) = take_option(url, "sslmode");
        let (url, root) = take_option(&url, "sslrootcert");
        let mut config: Config = url.parse().map_err(|error: Error| {
            invalid(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        let (mode, verification) = match (mode.as_deref(), &root) {
            (Some("disable"), _) => (SslMode::Disable, Verification::None),
            (None | Some("prefer"), None) => (SslMode::Prefer, Verification::None),
            (Some("require"), None) => (SslMode::Require, Verification::None),
            // Like libpq, which verifies if it has a certificate to do so.
            (None | Some("prefer" | "require" | "verify-ca"), _) => (SslMode::Require, Verification::Authority),
            (Some("verify-full"), _) => (SslMode::Require, Verification::Full),
            (Some(other), _) => {
                return Err(invalid(format!(
                    "sslmode={other} is not known: use disable, prefer, require, verify-ca or verify-full"
                )));
            }
        };
        config.ssl_mode(mode);
        // One of several servers can be written, and which one may change.
        if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let check = Arc::new(ConnectionCheck::new(Arc::default(), Part::Database, servers(&config)));
        Ok(Self { config, tls: Tls::new(verification, root.as_deref())?, check, choice: Arc::default() })
    }

    /// Of several servers, any can be read that has the expected database.
    pub(crate) fn parse_for_reads(url: &str, expected: Arc<Expected>) -> Result<Self, OpenError> {
        let mut url = Self::parse(url)?;
        url.config.target_session_attrs(TargetSessionAttrs::Any);
        url.check = Arc::new(ConnectionCheck::new(expected, Part::ReadDatabase, servers(&url.config)));
        Ok(url)
    }

    /// To any of the servers, whatever it has.
    pub(crate) async fn connect_unchecked(&self) -> Result<(), Error> {
        self.config.connect(self.tls.clone()).await.map(drop)
    }
}

/// Without user and password.
pub(crate) fn servers(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    });
    format!("{}/{}", hosts.collect::<Vec<_>>().join(","), config.get_dbname().unwrap_or_default())
}

/// Removes an option, and returns its value.
fn take_option(url: &str, name: &str) -> (String, Option<String>) {
    let mut value = None;
    let mut is_other = |option: &str| match option.split_once('=') {
        Some((key, given)) if key == name => {
            value = Some(given.to_owned());
            false
        }
        _ => true,
    };
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let Some((server, options)) = url.split_once('?') else { return (url.to_owned(), None) };
        let others: Vec<&str> = options.split('&').filter(|option| is_other(option)).collect();
        let url = if others.is_empty() { server.to_owned() } else { format!("{server}?{}", others.join("&")) };
        let decoded = |value: String| percent_encoding::percent_decode_str(&value).decode_utf8_lossy().into_owned();
        return (url, value.map(decoded));
    }
    let others: Vec<&str> = url.split_whitespace().filter(|option| is_other(option)).collect();
    (others.join(" "), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> SslMode {
        DatabaseUrl::parse(url).map(|url| url.config.get_ssl_mode()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_modes_of_libpq_are_known_in_both_forms() {
        assert_eq!(mode("postgres://a@h/d"), SslMode::Prefer);
        assert_eq!(mode("postgres://a@h/d?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://a@h/d?connect_timeout=3&sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres://a@h/d?sslmode=verify-full&sslrootcert=system&connect_timeout=3"), SslMode::Require);
        assert_eq!(mode("host=h user=a sslmode=disable dbname=d"), SslMode::Disable);
    }

    #[test]
    fn an_unknown_mode_and_a_missing_certificate_are_named() {
        let error = |url: &str| DatabaseUrl::parse(url).map(drop).unwrap_err().to_string();
        assert!(error("postgres://a@h/d?sslmode=full").contains("sslmode=full is not known"));
        assert!(error("postgres://a@h/d?sslmode=verify-ca&sslrootcert=%2Fno%2Fca.pem").contains("/no/ca.pem"));
    }

    #[test]
    fn of_several_servers_the_one_that_can_be_written_is_used() {
        let attributes = |url: &str| DatabaseUrl::parse(url).unwrap().config.get_target_session_attrs();
        assert_eq!(attributes("postgres://a@one,two/d"), TargetSessionAttrs::ReadWrite);
        assert_eq!(attributes("postgres://a@one/d"), TargetSessionAttrs::Any);
    }
}
