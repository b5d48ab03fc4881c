//! The public REST API under `/api/v1`, and the health of the service.
//!
//! A request passes the `layers`, where its caller is identified (`keys`) and counted (`limits`); its parameters are read by `params`, a handler of `routes` makes one call to the
//! store, and the answer leaves as a type of [`wire`]. Errors become problem documents in one place, `error`.

mod accounts;
mod answer;
mod clock;
mod dexes;
mod document;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod kept_answers;
mod keys;
mod labels;
mod layers;
mod limits;
mod params;
mod router;
mod routes;
mod serve;
mod state;
mod streams;
mod token_prefix;
pub mod wire;

pub use accounts::{AccountError, AccountUnknown, Accounts};
pub use contracts::{CompilerConfig, CompilerSource, VerifierConfig};
pub use dexes::{DexEntry, Dexes, DexesError};
pub use keys::{IssuedKey, KeyText, KeyUses, OwnerAccess, issue_key};
pub use labels::{LabelFault, Labels, LabelsError};
pub use limits::{BucketRate, Buckets, Client, LimitConfig, TrustedProxies};
pub use params::Paging;
pub use router::router;
pub use serve::{ConnectionLimits, serve};
pub use state::{ApiParts, ApiState};
pub use token_prefix::{TokenPrefix, UnknownTokenPrefix};
