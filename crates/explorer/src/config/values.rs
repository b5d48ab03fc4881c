//! Values of the configuration file.

use std::{fmt::Display, path::Path, str::FromStr};

use anyhow::Context;
use serde::{Deserialize, Deserializer, de::Error as _};

/// In the file, a single value may be given without a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// As on the command line.
pub(super) fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
}

/// One or several, as on the command line.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    list_with(deserializer, str::parse)
}

pub(super) fn list_with<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, D::Error> {
    let texts = match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    };
    texts.iter().map(|text| parse(text).map_err(D::Error::custom)).collect()
}

pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
