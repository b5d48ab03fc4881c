//! What a command of the operator acts on.

use std::path::PathBuf;

use crate::{
    admin::client::AdminClient,
    cli::TargetOptions,
    config::{
        admin::socket_in,
        location::{self, Location},
    },
};

pub(crate) enum Target {
    /// A service, through its socket.
    Running(AdminClient),
    /// The store itself.
    Stored(Location),
}

/// A database can be changed beside the services that use it. A folder can be open once, so its service is asked, if it runs.
pub(crate) async fn find(options: TargetOptions) -> anyhow::Result<Target> {
    let TargetOptions { data, database, admin_socket } = options;
    let location = location::location(data, database)?;
    if let Location::Folder(folder) = &location {
        let socket = admin_socket.unwrap_or_else(|| socket_in(folder));
        if let Some(client) = AdminClient::find(&socket).await? {
            return Ok(Target::Running(client));
        }
    }
    Ok(Target::Stored(location))
}

/// The socket of a running service.
pub(crate) fn socket(given: Option<PathBuf>, data: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(path) => Ok(path),
        None => Ok(socket_in(&location::data_folder(data)?)),
    }
}
