//! Tells receivers what happens at the addresses they watch.
//!
//! The index is the record of what happened: a [`Matcher`] follows it with a cursor of its own and queues what concerns
//! somebody, in one step with moving the cursor. A [`Dispatcher`] takes from the queues, signs, sends and writes down how it
//! went. A [`Registry`] is where owners come in. Whatever is cut off in between is done again, and is known by its id.

mod breaker;
mod clock;
mod dispatch;
mod egress;
mod follow;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod housekeeping;
mod matching;
mod payload;
mod registry;
mod retry;
mod secrets;
mod sign;
mod wake;

pub use dispatch::{Dispatcher, MOST_SET_ASIDE};
pub use egress::{Connecting, Egress, EgressConfig, EgressError, Insecure, Network, Stream, UrlFault};
pub use follow::Matcher;
pub use housekeeping::keep_house;
pub use registry::{ListedWebhook, Registered, Registration, Registry, RegistryError};
pub use secrets::{EncryptionKey, EncryptionKeyError, Secret, Vault, VaultError};
pub use wake::Wake;
