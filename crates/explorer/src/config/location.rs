//! Where the index and all records are: in a data folder or a database.

use std::{fmt, path::PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::options::options;
use crate::process::user_folders;

options! {
    /// Where the index and all records are.
    pub(crate) struct LocationOptions {
        /// Where the index is stored [default: explorer in your data folder]
        #[arg(long, env = "EXPLORER_DATA", value_name = "DIR")]
        pub(crate) data: Option<PathBuf>,

        /// A PostgreSQL database for the index and all records, instead of the data folder: postgres://user:password@host/name
        #[arg(long, env = "EXPLORER_DATABASE", value_name = "URL", hide_env_values = true)]
        pub(crate) database: Option<DatabaseUrl>,

        /// A standby of the database, which answers reads while it has all that was shown before
        #[arg(long, env = "EXPLORER_READ_DATABASE", value_name = "URL", hide_env_values = true, hide_short_help = true)]
        pub(crate) read_database: Option<DatabaseUrl>,
    }
    only in the file {
        /// Maximum connections for queries to the database, and as many to the standby.
        pub(crate) database_connections: Option<usize>,
    }
}

/// With fewer connections, requests wait for each other and for the tasks of a process.
const MIN_CONNECTIONS: usize = 4;

/// Where the index and all records are.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    Folder(PathBuf),
    Database {
        url: DatabaseUrl,
        /// A standby that answers reads.
        read_url: Option<DatabaseUrl>,
        /// None for the default.
        connections: Option<usize>,
    },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Database { url, .. } => f.write_str(&url.name()),
        }
    }
}

/// Where the store is, and the folder for files that are not in it.
pub(super) fn config(options: LocationOptions) -> anyhow::Result<(Location, PathBuf)> {
    let data = data_folder(options.data)?;
    if let Some(connections) = options.database_connections {
        ensure!(connections >= MIN_CONNECTIONS, "database-connections must be at least {MIN_CONNECTIONS}");
    }
    let location = match options.database {
        Some(url) => {
            Location::Database { url, read_url: options.read_database, connections: options.database_connections }
        }
        None => Location::Folder(data.clone()),
    };
    Ok((location, data))
}

/// The store of a maintenance command.
pub(crate) fn location(data: Option<PathBuf>, database: Option<DatabaseUrl>) -> anyhow::Result<Location> {
    match database {
        Some(url) => Ok(Location::Database { url, read_url: None, connections: None }),
        None => Ok(Location::Folder(data_folder(data)?)),
    }
}

pub(crate) fn data_folder(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(data) => Ok(data),
        None => Ok(user_folders::data()
            .context("cannot find the user's data folder: give one with --data")?
            .join("explorer")),
    }
}

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

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl")
    }
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
