//! Values of options.

use std::{fmt::Display, str::FromStr};

use clap::ValueEnum;
use enrichment::IpfsGateway;
use ipnet::IpNet;
use node::Endpoint;
use serde::{Deserialize, Deserializer, de::Error as _};

/// The URL of a database. Its password is not shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct DatabaseUrl(String);

impl DatabaseUrl {
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Without user, password and parameters.
    pub(crate) fn name(&self) -> String {
        let text = self.0.split_once("://").map_or(self.0.as_str(), |(_, rest)| rest);
        let text = text.split('?').next().unwrap_or_default();
        format!("postgres://{}", text.rsplit_once('@').map_or(text, |(_, host)| host))
    }
}

impl From<&str> for DatabaseUrl {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DatabaseUrl")
    }
}

/// What to do if the node serves another chain than the indexed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnNewChain {
    /// Drop the index, and begin with the new chain
    Reset,
    /// Wait for the indexed chain
    Halt,
}

/// A part of the work of `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Follow the node and write the index; a second one stands by
    Index,
    /// Serve the API and the pages
    Serve,
    /// Send webhooks; several share them
    Deliver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Traces {
    /// If the node supports traces
    Auto,
    /// Never
    Off,
    /// Nothing is indexed if the node does not support traces
    Required,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OwnerAccess {
    /// As `guarded`, but programs on this machine need no key on a dev chain
    Auto,
    /// Requests with an API key of that owner
    Guarded,
    /// Everyone: for private networks
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Switch {
    On,
    Off,
}

/// Where the metadata of NFTs is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NftSource {
    Off,
    /// From the hosts that contracts name.
    Hosts,
    /// And from this gateway, if they name IPFS.
    Gateway(IpfsGateway),
}

impl FromStr for NftSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "on" => Ok(Self::Hosts),
            url => url.parse().map(Self::Gateway).map_err(|_| {
                "expected `on`, `off` or the URL of an IPFS gateway without a query, such as https://ipfs.example"
                    .to_owned()
            }),
        }
    }
}

/// In the file, a single value may be given without a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_texts(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

pub(super) fn roles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Role>, D::Error> {
    let texts = OneOrMany::deserialize(deserializer)?.into_texts();
    texts.iter().map(|text| Role::from_str(text, false).map_err(D::Error::custom)).collect()
}

pub(super) fn endpoints<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Endpoint>, D::Error> {
    let texts = OneOrMany::deserialize(deserializer)?.into_texts();
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

pub(super) fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = OneOrMany::deserialize(deserializer)?.into_texts();
    texts.iter().map(|text| network(text).map_err(D::Error::custom)).collect()
}

/// In the file, as on the command line.
pub(super) fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
}

/// Parses a network such as `10.0.0.0/8`, or a single address.
pub(super) fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<std::net::IpAddr>().map(IpNet::from);
    text.parse()
        .or_else(|_| address())
        .map_err(|_| format!("`{text}` is not an IP address or a network such as 10.0.0.0/8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_without_its_password() {
        let name = |url: &str| DatabaseUrl::from(url).name();
        assert_eq!(name("postgres://me:secret@db.example/chain?sslmode=require"), "postgres://db.example/chain");
        assert_eq!(name("postgresql://db.example:5433/chain"), "postgres://db.example:5433/chain");
        assert_eq!(name("postgres://me:p@ss@db.example/chain?password=secret"), "postgres://db.example/chain");
    }
}
