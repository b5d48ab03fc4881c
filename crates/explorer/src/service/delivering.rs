//! Wires the webhook parts: registry, matcher, dispatcher and housekeeping.

use std::{path::Path, sync::Arc};

use anyhow::{Context, anyhow};
use domain::TokenPrefix;
use egress::Egress;
use store::{Store, WebhookLimits, WebhookRecords};
use tokio::task::JoinHandle;
use webhooks::{DeliveryMetrics, Dispatcher, EncryptionKey, MAX_PARKED, Matcher, Registry, RegistryError, Vault, Wake};

use super::{
    sharing::{
        matching::{self, Leadership},
        queues,
    },
    store::Index,
    supervisor::Supervisor,
};
use crate::{config::webhooks::WebhooksConfig, process::open_files, stores::Sender};

/// Slow receivers may use a quarter of all sockets.
fn max_parked() -> usize {
    (open_files::socket_share() / 4).min(MAX_PARKED)
}

/// The parts that webhooks share with the API and the admin interface.
#[derive(Clone)]
pub(super) struct Hooks {
    records: Arc<dyn WebhookRecords>,
    egress: Arc<Egress>,
    vault: Vault,
    wake: Wake,
    metrics: Arc<DeliveryMetrics>,
}

impl Hooks {
    pub(super) async fn new(config: &WebhooksConfig, data: &Path, store: &dyn Store) -> anyhow::Result<Self> {
        let key = match &config.encryption_key {
            Some(key) => key.clone(),
            None => EncryptionKey::load_or_create(data).context("cannot load the key for webhook secrets")?,
        };
        let hooks = Self {
            records: store.webhook_records(config.limits),
            egress: Arc::new(Egress::new(&config.egress).context("cannot set up connections to other hosts")?),
            vault: Vault::new(&key)?,
            wake: Wake::default(),
            metrics: Arc::default(),
        };
        match hooks.registry().check_key().await {
            Err(error @ RegistryError::Vault(_)) => Err(anyhow!(error).context(
                "webhook secrets were sealed with another key: give that key with --webhook-encryption-key, or restore its \
                 file in the data folder",
            )),
            checked => Ok(checked.map(|()| hooks)?),
        }
    }

    pub(super) fn records(&self) -> Arc<dyn WebhookRecords> {
        Arc::clone(&self.records)
    }

    pub(super) fn metrics(&self) -> Arc<DeliveryMetrics> {
        Arc::clone(&self.metrics)
    }

    pub(super) fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// The guard of connections to user-supplied hosts.
    pub(super) fn egress(&self) -> Arc<Egress> {
        Arc::clone(&self.egress)
    }

    pub(super) fn registry(&self) -> Registry {
        Registry::new(Arc::clone(&self.records), Arc::clone(&self.egress), self.vault.clone(), self.wake.clone())
    }
}

/// The webhook tasks of a process.
pub(super) struct Delivering {
    pub(super) dispatcher: JoinHandle<()>,
    /// Set if this process shares the sending of webhooks with others.
    pub(super) sender: Option<Sender>,
}

impl Delivering {
    /// Of a process that does not deliver.
    pub(super) fn none() -> Self {
        Self { dispatcher: tokio::spawn(std::future::ready(())), sender: None }
    }

    /// Starts all webhook tasks: blocks are matched while this process is the leader, and the queues sent from are those of
    /// the records.
    pub(super) fn start(
        hooks: &Hooks,
        index: &Index,
        limits: WebhookLimits,
        token_prefix: TokenPrefix,
        supervisor: &Supervisor,
    ) -> Self {
        let (leadership, sender, queues) = match &index.shared {
            Some(shared) => {
                let leadership = matching::elect(shared, supervisor);
                let sender = queues::share(shared, hooks.wake(), supervisor);
                let queues = shared.webhook_records().with_limits(limits).with_sender(sender.clone());
                (leadership, Some(sender), Arc::new(queues) as Arc<dyn WebhookRecords>)
            }
            None => (Leadership::always(), None, hooks.records()),
        };
        start_matcher(hooks, index, token_prefix, leadership.clone(), supervisor);
        start_housekeeping(hooks, leadership, supervisor);
        Self { dispatcher: start_dispatcher(hooks, queues, supervisor), sender }
    }
}

fn start_matcher(
    hooks: &Hooks,
    index: &Index,
    token_prefix: TokenPrefix,
    leadership: Leadership,
    supervisor: &Supervisor,
) {
    let (hooks, reader, sync) = (hooks.clone(), index.store.reader(), index.sync.clone());
    supervisor.spawn("webhook-matcher", move |cancel| {
        let (hooks, reader, sync) = (hooks.clone(), reader.clone(), sync.clone());
        leadership.clone().run(cancel, move |cancel| {
            let Hooks { records, wake, .. } = hooks.clone();
            Matcher::new(reader.clone(), records, sync.clone(), wake, token_prefix).run(cancel)
        })
    });
}

fn start_housekeeping(hooks: &Hooks, leadership: Leadership, supervisor: &Supervisor) {
    let records = hooks.records();
    supervisor.spawn("webhook-housekeeping", move |cancel| {
        let records = Arc::clone(&records);
        leadership.clone().run(cancel, move |cancel| webhooks::run_housekeeping(Arc::clone(&records), cancel))
    });
}

fn start_dispatcher(hooks: &Hooks, queues: Arc<dyn WebhookRecords>, supervisor: &Supervisor) -> JoinHandle<()> {
    let (hooks, max_parked) = (hooks.clone(), max_parked());
    supervisor.spawn("webhook-dispatcher", move |cancel| {
        let Hooks { egress, vault, wake, metrics, .. } = hooks.clone();
        Dispatcher::new(Arc::clone(&queues), egress, vault, wake, max_parked).with_metrics(metrics).run(cancel)
    })
}
