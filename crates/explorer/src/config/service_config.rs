//! The checked configuration of a service.

use std::{net::SocketAddr, path::PathBuf};

use ::node::NodeConfig;
use anyhow::bail;

use super::{
    admin::AdminConfig,
    indexing::{self, IndexingConfig},
    limits::LimitsConfig,
    location::{self, Location},
    memory::MemoryBudget,
    names::NamesConfig,
    node,
    pages::PagesConfig,
    roles::Roles,
    run_options::RunOptions,
    services::ServicesConfig,
    webhooks::WebhooksConfig,
};

/// The configuration of a service.
#[derive(Debug)]
pub(crate) struct ServiceConfig {
    pub(crate) node: NodeConfig,
    pub(crate) location: Location,
    /// For files that are not in the store.
    pub(crate) data: PathBuf,
    pub(crate) roles: Roles,
    pub(crate) listen: SocketAddr,
    pub(crate) indexing: IndexingConfig,
    pub(crate) names: NamesConfig,
    pub(crate) pages: PagesConfig,
    pub(crate) limits: LimitsConfig,
    pub(crate) services: ServicesConfig,
    pub(crate) webhooks: WebhooksConfig,
    pub(crate) memory: MemoryBudget,
    pub(crate) admin: AdminConfig,
}

impl ServiceConfig {
    /// Checks the options, and fills in what is missing.
    pub(crate) fn new(options: RunOptions) -> anyhow::Result<Self> {
        let roles = Roles::of(&options.roles.role);
        check_roles(roles, &options)?;
        let listen = options.roles.listen();
        let limits = options.limits.config(options.pages.public_url.is_some());
        let pages = options.pages.config()?;
        let mut node = node::config(options.node, options.calls)?;
        let memory = options.memory.budget()?;
        node.max_response_bytes = memory.node_response();
        node.genesis = options.chain.genesis.as_deref().map(node::read_genesis).transpose()?;
        let webhooks = options.webhooks.config()?;
        let names = options.names.config(options.config)?;
        let (location, data) = location::config(options.location)?;
        let indexing = indexing::config(options.chain, options.traces, &location)?;
        let admin = options.admin.config(&location, &data)?;
        let services = options.services.config(&data, memory)?;
        Ok(Self {
            node,
            location,
            data,
            roles,
            listen,
            indexing,
            names,
            pages,
            limits,
            services,
            webhooks,
            memory,
            admin,
        })
    }
}

/// What a role needs of other groups of options.
fn check_roles(roles: Roles, options: &RunOptions) -> anyhow::Result<()> {
    let database = &options.location.database;
    if roles != Roles::ALL && database.is_none() {
        bail!("--role needs a store that several processes can open: give a database with --database");
    }
    if options.location.read_database.is_some() && database.is_none() {
        bail!("--read-database is a standby of a database: give the database with --database");
    }
    if roles != Roles::ALL && (roles.serve || roles.deliver) && options.webhooks.webhook_encryption_key.is_none() {
        bail!(
            "with --role, give the key that encrypts webhook secrets with --webhook-encryption-key: all processes need the \
             same one"
        );
    }
    if options.node.rpc.is_empty() && (roles.index || roles.serve) {
        bail!(
            "no node to follow: give one with --rpc, such as --rpc http://127.0.0.1:8545 (or try `explorer demo`, which needs no node)"
        );
    }
    Ok(())
}
