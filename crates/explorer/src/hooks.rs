//! Wires the webhook parts: registry, matcher, dispatcher and housekeeping.

use std::{path::Path, sync::Arc};

use anyhow::{Context, anyhow};
use domain::{SyncStatus, TokenPrefix};
use egress::{Egress, EgressConfig};
use store::{ChainReader, Store, WebhookLimits, WebhookRecords};
use tokio::{sync::watch, task::JoinHandle};
use webhooks::{DeliveryMetrics, Dispatcher, EncryptionKey, MAX_PARKED, Matcher, Registry, RegistryError, Vault, Wake};

use crate::{sharing::Turn, supervisor::Supervisor};

/// Slow receivers may use a quarter of all sockets.
fn max_parked() -> usize {
    (crate::open_files::socket_share() / 4).min(MAX_PARKED)
}

#[derive(Clone)]
pub(crate) struct Hooks {
    records: Arc<dyn WebhookRecords>,
    egress: Arc<Egress>,
    vault: Vault,
    wake: Wake,
    metrics: Arc<DeliveryMetrics>,
}

impl Hooks {
    pub(crate) async fn new(
        egress: &EgressConfig,
        limits: WebhookLimits,
        key: Option<&EncryptionKey>,
        data: &Path,
        store: &dyn Store,
    ) -> anyhow::Result<Self> {
        let key = match key {
            Some(key) => key.clone(),
            None => EncryptionKey::in_folder(data).context("cannot load the key for webhook secrets")?,
        };
        let hooks = Self {
            records: store.webhook_records(limits),
            egress: Arc::new(Egress::new(egress).context("cannot set up connections to other hosts")?),
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

    pub(crate) fn records(&self) -> Arc<dyn WebhookRecords> {
        Arc::clone(&self.records)
    }

    pub(crate) fn metrics(&self) -> Arc<DeliveryMetrics> {
        Arc::clone(&self.metrics)
    }

    pub(crate) fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// The guard of connections to hosts that strangers name.
    pub(crate) fn egress(&self) -> Arc<Egress> {
        Arc::clone(&self.egress)
    }

    pub(crate) fn registry(&self) -> Registry {
        Registry::new(Arc::clone(&self.records), Arc::clone(&self.egress), self.vault.clone(), self.wake.clone())
    }

    /// Starts all webhook tasks: blocks are matched while the turn is this process's, and the queues sent from are those of
    /// the records. Returns the handle of the dispatcher.
    pub(crate) fn start(
        self,
        reader: Arc<dyn ChainReader>,
        sync: &watch::Receiver<SyncStatus>,
        token_prefix: TokenPrefix,
        supervisor: &Supervisor,
        (turn, queues): (Turn, Option<Arc<dyn WebhookRecords>>),
    ) -> JoinHandle<()> {
        let (hooks, sync) = (self.clone(), sync.clone());
        let of_matcher = turn.clone();
        supervisor.spawn("webhook-matcher", move |cancel| {
            let (hooks, reader, sync) = (hooks.clone(), reader.clone(), sync.clone());
            of_matcher.clone().run(cancel, move |cancel| {
                let Hooks { records, wake, .. } = hooks.clone();
                Matcher::new(reader.clone(), records, sync.clone(), wake, token_prefix).run(cancel)
            })
        });
        let records = Arc::clone(&self.records);
        supervisor.spawn("webhook-housekeeping", move |cancel| {
            let records = Arc::clone(&records);
            turn.clone().run(cancel, move |cancel| webhooks::run_housekeeping(Arc::clone(&records), cancel))
        });
        let max_parked = max_parked();
        let queues = queues.unwrap_or_else(|| Arc::clone(&self.records));
        supervisor.spawn("webhook-dispatcher", move |cancel| {
            let Hooks { egress, vault, wake, metrics, .. } = self.clone();
            Dispatcher::new(Arc::clone(&queues), egress, vault, wake, max_parked).with_metrics(metrics).run(cancel)
        })
    }
}
