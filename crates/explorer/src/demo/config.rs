//! The configuration of the demo's explorer.

use std::path::Path;

use domain::TokenPrefix;
use egress::{EgressConfig, Insecure};
use node::NodeConfig;
use store::WebhookLimits;
use verification::{CompilerConfig, CompilerSource, VerifierConfig};
use web::{Branding, TourStop};

use crate::{
    cli::DemoOptions,
    config::{
        admin::AdminConfig,
        indexing::{IndexingConfig, OnNewChain},
        limits::{AccessChoice, LimitOptions, LimitsConfig},
        location::Location,
        memory::MemoryBudget,
        names::NamesConfig,
        pages::{DEFAULT_COIN, PagesConfig},
        roles::Roles,
        service_config::ServiceConfig,
        services::{NftMetadata, ServicesConfig},
        webhooks::WebhooksConfig,
    },
    process::user_folders,
};

/// The index of a day of the demo is small, so little of it needs to be cached.
const MEMORY_MEGABYTES: u64 = 256;

pub(super) fn config(
    options: &DemoOptions,
    node: NodeConfig,
    data: &Path,
    names: NamesConfig,
    tour: Vec<TourStop>,
) -> anyhow::Result<ServiceConfig> {
    Ok(ServiceConfig {
        node,
        location: Location::Folder(data.to_owned()),
        data: data.to_owned(),
        roles: Roles::ALL,
        listen: options.listen,
        indexing: IndexingConfig {
            start_block: None,
            on_new_chain: OnNewChain::Halt,
            bootstrap: None,
            traces: ingest::Traces::Auto,
        },
        names,
        pages: PagesConfig {
            // Pages name tokens as the specification of the API does.
            token_prefix: Some(TokenPrefix::Bep),
            public_url: None,
            chain_name: "Demo chain".to_owned(),
            coin: DEFAULT_COIN.to_owned(),
            branding: Branding::default(),
            tour,
        },
        limits: limits(options),
        services: ServicesConfig {
            verifier: VerifierConfig::new(compilers(data)),
            nft_metadata: NftMetadata::OnChain,
            ipfs_gateway: None,
            top_accounts: true,
        },
        webhooks: WebhooksConfig {
            egress: EgressConfig { insecure: Insecure::Allowed, ..EgressConfig::default() },
            limits: WebhookLimits::default(),
            encryption_key: None,
        },
        memory: MemoryBudget::new(Some(MEMORY_MEGABYTES), None)?,
        admin: AdminConfig::default(),
    })
}

/// Compilers are cached across demos.
fn compilers(data: &Path) -> CompilerConfig {
    let folder = user_folders::cache().unwrap_or_else(|| data.to_owned()).join("explorer").join("compilers");
    let mut compilers = CompilerConfig::new(folder, CompilerSource::Npm);
    // Idle compilers are other processes, and none is started until somebody verifies a contract.
    compilers.idle.bytes = MemoryBudget::default().idle_compilers();
    compilers
}

fn limits(options: &DemoOptions) -> LimitsConfig {
    let limits = LimitOptions {
        owner_access: Some(AccessChoice::Open),
        anonymous_requests_per_minute: Some(options.anonymous_requests_per_minute),
        pages_per_minute: Some(options.pages_per_minute),
        ..LimitOptions::default()
    };
    limits.config(false)
}
