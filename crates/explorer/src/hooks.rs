//! Webhooks, wired: what the API registers, what follows the index, and what sends.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use api::TokenPrefix;
use domain::SyncStatus;
use store::WebhookRecords;
use store_embedded::EmbeddedStore;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use webhooks::{
    Dispatcher, Egress, EgressConfig, EncryptionKey, MOST_SET_ASIDE, Matcher, Registry, RegistryError, TokenNames,
    Vault, Wake,
};

/// A quarter of all sockets may belong to receivers that are slow to answer.
fn most_set_aside() -> usize {
    (crate::open_files::socket_share() / 4).min(MOST_SET_ASIDE)
}

pub(crate) struct Hooks {
    records: Arc<dyn WebhookRecords>,
    egress: Arc<Egress>,
    vault: Vault,
    wake: Wake,
}

impl Hooks {
    pub(crate) async fn new(
        egress: &EgressConfig,
        key: Option<&EncryptionKey>,
        data: &Path,
        store: &EmbeddedStore,
    ) -> anyhow::Result<Self> {
        let key = match key {
            Some(key) => key.clone(),
            None => EncryptionKey::in_folder(data).context("the key for the secrets of webhooks is not right")?,
        };
        let hooks = Self {
            records: Arc::new(store.webhook_records()),
            egress: Arc::new(Egress::new(egress).context("webhooks cannot be sent")?),
            vault: Vault::new(&key)?,
            wake: Wake::default(),
        };
        match hooks.registry().check_key().await {
            Err(error @ RegistryError::Vault(_)) => Err(anyhow!(error).context(
                "the secrets of webhooks were sealed with another key: give that one with --webhook-encryption-key, or put its \
                 file back into the data folder",
            )),
            checked => Ok(checked.map(|()| hooks)?),
        }
    }

    pub(crate) fn registry(&self) -> Registry {
        Registry::new(Arc::clone(&self.records), Arc::clone(&self.egress), self.vault.clone(), self.wake.clone())
    }

    /// Follows the index and sends until told to stop; the handle is that of the sending.
    pub(crate) fn start(
        self,
        store: &EmbeddedStore,
        sync: &watch::Receiver<SyncStatus>,
        prefix: TokenPrefix,
        cancel: &CancellationToken,
    ) -> JoinHandle<()> {
        let names = match prefix {
            TokenPrefix::Bep => TokenNames(|kind| TokenPrefix::Bep.name(kind)),
            TokenPrefix::Erc => TokenNames(|kind| TokenPrefix::Erc.name(kind)),
        };
        let (reader, records) = (Arc::new(store.reader()), Arc::clone(&self.records));
        let matcher = Matcher::new(reader, Arc::clone(&records), sync.clone(), self.wake.clone(), names);
        tokio::spawn(matcher.run(cancel.clone()));
        tokio::spawn(webhooks::keep_house(records, cancel.clone()));
        let dispatcher = Dispatcher::new(self.records, self.egress, self.vault, self.wake, most_set_aside());
        tokio::spawn(dispatcher.run(cancel.clone()))
    }
}
