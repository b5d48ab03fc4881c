//! Webhooks: how many there may be, and where they are sent.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::ensure;
use egress::{EgressConfig, Insecure};
use store::WebhookLimits;
use webhooks::EncryptionKey;

use super::{options::options, values::parsed};

options! {
    /// How many webhooks there may be, and where they are sent.
    pub(crate) struct WebhookOptions {
        /// Allow webhooks to http:// URLs and to loopback addresses, for testing [default: false]
        #[arg(
            long,
            env = "EXPLORER_WEBHOOK_ALLOW_INSECURE",
            value_name = "BOOL",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "true",
            hide_short_help = true
        )]
        pub(crate) webhook_allow_insecure: Option<bool>,

        /// A PEM file of certificates that webhooks trust in addition to the public authorities and those of the system: of other
        /// authorities, or of single receivers
        #[arg(long, env = "EXPLORER_WEBHOOK_CA_FILE", value_name = "FILE", hide_short_help = true)]
        pub(crate) webhook_ca_file: Option<PathBuf>,

        /// DNS server for the hosts of webhooks [default: those of the system]
        #[arg(long, env = "EXPLORER_WEBHOOK_DNS", value_name = "ADDR", hide_short_help = true)]
        pub(crate) webhook_dns: Option<SocketAddr>,

        /// The ports that webhooks may use [default: 80 and 443; any with --webhook-allow-insecure]
        #[arg(long, env = "EXPLORER_WEBHOOK_PORTS", value_name = "PORT", value_delimiter = ',', hide_short_help = true)]
        pub(crate) webhook_ports: Vec<u16>,

        /// Maximum webhooks of all owners together; a tenth of them may watch the same address [default: 10000]
        #[arg(long, env = "EXPLORER_WEBHOOK_LIMIT", value_name = "N", hide_short_help = true)]
        pub(crate) webhook_limit: Option<usize>,

        /// Maximum pending messages of all webhooks, of which one owner may have a fifth and one webhook a tenth; the oldest are
        /// dropped beyond that [default: 500000]
        #[arg(long, env = "EXPLORER_WEBHOOK_PENDING", value_name = "N", hide_short_help = true)]
        pub(crate) webhook_pending: Option<u64>,

        /// The key that encrypts webhook secrets at rest, 64 hexadecimal digits [default: a file in the data folder]
        #[arg(
            long,
            env = "EXPLORER_WEBHOOK_ENCRYPTION_KEY",
            value_name = "KEY",
            hide_env_values = true,
            hide_short_help = true
        )]
        #[file(parsed)]
        pub(crate) webhook_encryption_key: Option<EncryptionKey>,
    }
}

/// How many webhooks there may be, and where they are sent.
#[derive(Debug)]
pub(crate) struct WebhooksConfig {
    /// Also for the metadata of NFTs.
    pub(crate) egress: EgressConfig,
    pub(crate) limits: WebhookLimits,
    /// None: use the key file in the data folder.
    pub(crate) encryption_key: Option<EncryptionKey>,
}

impl WebhookOptions {
    pub(super) fn config(self) -> anyhow::Result<WebhooksConfig> {
        let defaults = WebhookLimits::default();
        let webhooks = self.webhook_limit.unwrap_or(defaults.webhooks);
        let pending = self.webhook_pending.unwrap_or(defaults.pending);
        ensure!(pending > 0, "--webhook-pending must be at least 1");
        Ok(WebhooksConfig {
            egress: EgressConfig {
                insecure: match self.webhook_allow_insecure {
                    Some(true) => Insecure::Allowed,
                    Some(false) | None => Insecure::Refused,
                },
                ports: (!self.webhook_ports.is_empty()).then_some(self.webhook_ports),
                ca_file: self.webhook_ca_file,
                dns_server: self.webhook_dns,
            },
            limits: WebhookLimits::new(webhooks, pending),
            encryption_key: self.webhook_encryption_key,
        })
    }
}
