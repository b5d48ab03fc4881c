//! Webhooks: sends events about watched addresses to receivers, at least once.
//!
//! A [`Matcher`] follows the index with its own cursor; it queues messages and moves the cursor in one transaction. A
//! [`Dispatcher`] claims queued messages, signs and sends them, and records the attempts. A [`Registry`] manages webhooks
//! for their owners. Work that a crash interrupts is repeated; receivers deduplicate messages by id.

mod breaker;
mod clock;
mod dispatch;
mod egress;
mod follow;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod housekeeping;
mod matching;
mod payload;
mod registry;
mod retry;
mod secrets;
mod sign;
mod wake;

pub use clock::correct_clock;
pub use dispatch::{DeliveryMetrics, Dispatcher, MAX_PARKED};
pub use egress::{Connecting, Egress, EgressConfig, EgressError, Insecure, Network, Stream, UrlFault};
pub use follow::Matcher;
pub use housekeeping::run_housekeeping;
pub use payload::event_name;
pub use registry::{ListedWebhook, Registered, Registration, Registry, RegistryError};
pub use secrets::{EncryptionKey, EncryptionKeyError, Secret, Vault, VaultError};
pub use wake::Wake;
