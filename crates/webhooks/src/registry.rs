//! Manages webhooks for their owners: create, update, test and delete.

use std::{sync::Arc, time::Duration};

use domain::{
    Address, Delivery, DeliveryId, DeliveryStatus, EventKind, EventKinds, NewDelivery, NewWebhook, Page, PageRequest,
    UnixMillis, Webhook, WebhookChange, WebhookId,
};
use egress::{Egress, UrlFault};
use futures::future::BoxFuture;
use rand::Rng;
use store::{AddWebhookError, QueueCounts, StoreError, WebhookRecords, WebhookTotals};

use crate::{Secret, Vault, VaultError, Wake, clock, payload};

/// How long the old secret also signs after a rotation.
const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("url {0}")]
    Url(#[from] UrlFault),
    #[error("the owner has reached the maximum number of webhooks")]
    QuotaReached,
    #[error("the address has reached the maximum number of webhooks")]
    AddressFull,
    #[error("the explorer has reached its maximum number of webhooks")]
    Full,
    #[error("there is no such webhook")]
    NoSuchWebhook,
    #[error("there is no such delivery")]
    NoSuchDelivery,
    #[error("the webhook is not active")]
    Inactive,
    #[error("the block of this delivery was reverted")]
    Cancelled,
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AddWebhookError> for RegistryError {
    fn from(error: AddWebhookError) -> Self {
        match error {
            AddWebhookError::QuotaReached => Self::QuotaReached,
            AddWebhookError::AddressFull => Self::AddressFull,
            AddWebhookError::Full => Self::Full,
            AddWebhookError::Store(error) => Self::Store(error),
        }
    }
}

/// A request to create a webhook.
#[derive(Debug, Clone)]
pub struct Registration {
    pub owner: Address,
    pub url: String,
    pub watched: Address,
    pub events: EventKinds,
}

/// A webhook with its new secret, which is shown only once.
#[derive(Debug)]
pub struct Registered {
    pub webhook: Webhook,
    pub secret: Secret,
}

/// A webhook with the counts of its queue.
#[derive(Debug, Clone)]
pub struct ListedWebhook {
    pub webhook: Webhook,
    pub queue: QueueCounts,
}

#[derive(Clone)]
pub struct Registry {
    records: Arc<dyn WebhookRecords>,
    egress: Arc<Egress>,
    vault: Vault,
    wake: Wake,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

impl Registry {
    #[must_use]
    pub fn new(records: Arc<dyn WebhookRecords>, egress: Arc<Egress>, vault: Vault, wake: Wake) -> Self {
        Self { records, egress, vault, wake }
    }

    /// Checks that the stored secrets can be decrypted, so that a wrong key is found at startup.
    ///
    /// # Errors
    /// If they cannot be decrypted, or if the store fails.
    pub fn check_key(&self) -> BoxFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            if let Some(watcher) = self.records.watch_list().await?.watchers.first()
                && let Some(webhook) = self.records.find_webhook(watcher.webhook).await?
            {
                self.vault.secrets_of(&webhook)?;
            }
            Ok(())
        })
    }

    /// # Errors
    /// If the URL is refused, or if a limit on webhooks is reached.
    pub fn register(&self, registration: Registration) -> BoxFuture<'_, Result<Registered, RegistryError>> {
        Box::pin(async move {
            self.egress.target(&registration.url)?;
            let secret = Secret::generate();
            let webhook = NewWebhook {
                owner: registration.owner,
                url: registration.url,
                watched: registration.watched,
                events: registration.events,
                secret: self.vault.seal(&secret, &registration.owner)?,
                created_at: clock::now(),
            };
            let webhook = self.records.add_webhook(webhook).await?;
            self.wake.changed(webhook.id);
            Ok(Registered { webhook, secret })
        })
    }

    /// # Errors
    /// When the store fails.
    pub fn list(&self, owner: Address) -> BoxFuture<'_, Result<Vec<ListedWebhook>, RegistryError>> {
        Box::pin(async move {
            let mut listed = Vec::new();
            for webhook in self.records.list_webhooks(owner).await? {
                listed.push(self.listed(webhook).await?);
            }
            Ok(listed)
        })
    }

    async fn listed(&self, webhook: Webhook) -> Result<ListedWebhook, RegistryError> {
        let queue = self.records.queue_counts(webhook.id).await?;
        Ok(ListedWebhook { webhook, queue })
    }

    /// Totals over all webhooks.
    #[must_use]
    pub fn totals(&self) -> WebhookTotals {
        self.records.totals()
    }

    /// # Errors
    /// When there is no such webhook.
    pub fn get(&self, id: WebhookId) -> BoxFuture<'_, Result<Webhook, RegistryError>> {
        Box::pin(async move { self.records.find_webhook(id).await?.ok_or(RegistryError::NoSuchWebhook) })
    }

    /// # Errors
    /// When there is no such webhook, or when the new URL is refused.
    pub fn change(&self, id: WebhookId, change: WebhookChange) -> BoxFuture<'_, Result<ListedWebhook, RegistryError>> {
        Box::pin(async move {
            if let Some(url) = &change.url {
                self.egress.target(url)?;
            }
            let webhook = self.records.change_webhook(id, change).await?.ok_or(RegistryError::NoSuchWebhook)?;
            self.wake.changed(id);
            self.listed(webhook).await
        })
    }

    /// # Errors
    /// When there is no such webhook.
    pub fn delete(&self, id: WebhookId) -> BoxFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let deleted = self.records.delete_webhook(id).await?;
            self.wake.changed(id);
            if deleted { Ok(()) } else { Err(RegistryError::NoSuchWebhook) }
        })
    }

    /// # Errors
    /// When there is no such webhook.
    pub fn rotate_secret(&self, id: WebhookId) -> BoxFuture<'_, Result<(Registered, UnixMillis), RegistryError>> {
        Box::pin(async move {
            let owner = self.get(id).await?.owner;
            let secret = Secret::generate();
            let sealed = self.vault.seal(&secret, &owner)?;
            let until = clock::now() + u64::try_from(OVERLAP.as_millis()).unwrap_or(u64::MAX);
            let webhook = self.records.rotate_secret(id, sealed, until).await?.ok_or(RegistryError::NoSuchWebhook)?;
            self.wake.changed(id);
            Ok((Registered { webhook, secret }, until))
        })
    }

    /// Queues a test message.
    ///
    /// # Errors
    /// When there is no such webhook, or when it is not active.
    pub fn ping(&self, id: WebhookId) -> BoxFuture<'_, Result<Delivery, RegistryError>> {
        Box::pin(async move {
            if !self.get(id).await?.active {
                return Err(RegistryError::Inactive);
            }
            let now = clock::now();
            let message = NewDelivery {
                webhook: id,
                id: DeliveryId::new(rand::rng().random()),
                kind: EventKind::Ping,
                location: None,
                body: payload::ping(id, now),
            };
            let delivery = self.records.enqueue(message, now).await?.ok_or(RegistryError::NoSuchWebhook)?;
            self.wake.queued([id]);
            Ok(delivery)
        })
    }

    /// # Errors
    /// When there is no such webhook.
    pub fn deliveries(&self, id: WebhookId, page: PageRequest) -> BoxFuture<'_, Result<Page<Delivery>, RegistryError>> {
        Box::pin(async move { Ok(self.records.list_deliveries(id, page).await?) })
    }

    /// Queues a message again.
    ///
    /// # Errors
    /// If it is unknown, if its block was reverted before it was sent, or if the webhook is not active.
    pub fn redeliver(&self, id: WebhookId, delivery: DeliveryId) -> BoxFuture<'_, Result<Delivery, RegistryError>> {
        Box::pin(async move {
            if !self.get(id).await?.active {
                return Err(RegistryError::Inactive);
            }
            let found = self.records.find_delivery(id, delivery).await?.ok_or(RegistryError::NoSuchDelivery)?;
            if found.status == DeliveryStatus::Cancelled {
                return Err(RegistryError::Cancelled);
            }
            let queued =
                self.records.requeue(id, delivery, clock::now()).await?.ok_or(RegistryError::NoSuchDelivery)?;
            self.wake.queued([id]);
            Ok(queued)
        })
    }
}
