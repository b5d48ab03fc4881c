//! What a process does, and where it serves.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::ValueEnum;
use serde::{Deserialize, Deserializer};

use super::{options::options, values};

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3000);

options! {
    /// What a process does, and where it serves.
    pub(crate) struct RoleOptions {
        /// What this process does, if several share a database; can be given several times [default: everything]
        #[arg(long, env = "EXPLORER_ROLE", value_name = "ROLE", value_delimiter = ',', hide_short_help = true)]
        #[file(role_list)]
        pub(crate) role: Vec<Role>,

        /// Where the API listens [default: 127.0.0.1:3000]
        #[arg(long, env = "EXPLORER_LISTEN", value_name = "ADDR")]
        pub(crate) listen: Option<SocketAddr>,
    }
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

fn role_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Role>, D::Error> {
    values::list_with(deserializer, |text| Role::from_str(text, false))
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) index: bool,
    pub(crate) serve: bool,
    pub(crate) deliver: bool,
}

impl Roles {
    pub(crate) const ALL: Self = Self { index: true, serve: true, deliver: true };

    /// None given means all.
    pub(super) fn of(given: &[Role]) -> Self {
        if given.is_empty() {
            return Self::ALL;
        }
        let has = |role| given.contains(&role);
        Self { index: has(Role::Index), serve: has(Role::Serve), deliver: has(Role::Deliver) }
    }
}

impl RoleOptions {
    pub(super) fn listen(&self) -> SocketAddr {
        self.listen.unwrap_or(DEFAULT_LISTEN)
    }
}
