//! The admin interface: where it listens.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::bail;

use super::{location::Location, options::options};

/// In the data folder.
const SOCKET: &str = "admin.sock";

options! {
    /// Where the admin interface listens.
    pub(crate) struct AdminInterfaceOptions {
        /// Where the admin interface listens, which serves metrics: the path of a unix socket [default: admin.sock in the data
        /// folder; with --database, none]
        #[arg(long, env = "EXPLORER_ADMIN_SOCKET", value_name = "PATH", hide_short_help = true)]
        pub(crate) admin_socket: Option<PathBuf>,

        /// Serve the admin interface on this address, too. Clients send a token: that of --admin-token-file or, on a loopback
        /// address, the one in admin.token of the data folder, which is created
        #[arg(long, env = "EXPLORER_ADMIN_LISTEN", value_name = "ADDR", hide_short_help = true)]
        pub(crate) admin_listen: Option<SocketAddr>,

        /// A file with the token for --admin-listen, at least 16 characters
        #[arg(long, env = "EXPLORER_ADMIN_TOKEN_FILE", value_name = "FILE", hide_short_help = true)]
        pub(crate) admin_token_file: Option<PathBuf>,
    }
}

/// Where the admin interface listens.
#[derive(Debug, Default)]
pub(crate) struct AdminConfig {
    pub(crate) socket: Option<SocketConfig>,
    pub(crate) listen: Option<AdminPort>,
}

/// A port of the admin interface.
#[derive(Debug)]
pub(crate) struct AdminPort {
    pub(crate) address: SocketAddr,
    pub(crate) token: TokenSource,
    /// Where the token is that only reads metrics. It is created at the first start.
    pub(crate) metrics_token_folder: PathBuf,
}

#[derive(Debug)]
pub(crate) struct SocketConfig {
    pub(crate) path: PathBuf,
    /// Whether the operator asked for it; otherwise the service starts without the socket, too.
    pub(crate) is_required: bool,
}

/// Where the token comes from that is required on a port.
#[derive(Debug)]
pub(crate) enum TokenSource {
    File(PathBuf),
    /// Created in this folder at the first start.
    Folder(PathBuf),
}

impl AdminInterfaceOptions {
    /// Several processes with a database may have the same data folder, so none of them has a socket there.
    pub(super) fn config(self, location: &Location, data: &Path) -> anyhow::Result<AdminConfig> {
        let socket = match (self.admin_socket, location) {
            (Some(path), _) => Some(SocketConfig { path, is_required: true }),
            (None, Location::Folder(folder)) => Some(SocketConfig { path: socket_in(folder), is_required: false }),
            (None, Location::Database { .. }) => None,
        };
        let token = match (self.admin_listen, self.admin_token_file) {
            (None, Some(_)) => bail!("--admin-token-file is for --admin-listen: give an address"),
            (Some(address), None) if !address.ip().is_loopback() => bail!(
                "others can reach {address}: give a token for the admin interface with --admin-token-file, or a loopback address \
                 with --admin-listen"
            ),
            (Some(_), None) => TokenSource::Folder(data.to_owned()),
            (_, Some(file)) => TokenSource::File(file),
            (None, None) => return Ok(AdminConfig { socket, listen: None }),
        };
        let port = |address| AdminPort { address, token, metrics_token_folder: data.to_owned() };
        Ok(AdminConfig { socket, listen: self.admin_listen.map(port) })
    }
}

/// The socket of a service with this data folder.
pub(crate) fn socket_in(data: &Path) -> PathBuf {
    data.join(SOCKET)
}
