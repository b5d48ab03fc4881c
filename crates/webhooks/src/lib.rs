//! Webhooks: sends events about watched addresses to receivers, at least once.
//!
//! A [`Matcher`] follows the index with its own cursor; it queues messages and moves the cursor in one transaction. A
//! [`Dispatcher`] claims queued messages, signs and sends them, and records the attempts. A [`Registry`] manages webhooks
//! for their owners. Work that a crash interrupts is repeated; receivers deduplicate messages by id.

mod breaker;
mod clock;
mod dispatch;
mod housekeeping;
mod matcher;
mod payload;
mod registry;
mod retry;
mod secrets;
mod sign;
mod wake;
mod watch;

#[cfg(test)]
mod documentation;

pub use clock::correct_clock;
pub use dispatch::{ATTEMPT_TIMEOUT, DeliveryMetrics, Dispatcher, MAX_PARKED};
pub use housekeeping::run_housekeeping;
pub use matcher::Matcher;
pub use registry::{ListedWebhook, Registered, Registration, Registry, RegistryError};
pub use secrets::{EncryptionKey, EncryptionKeyError, Secret, Vault, VaultError};
pub use wake::Wake;
