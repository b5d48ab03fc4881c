//! The public REST API under `/api/v1`, and the health endpoint.
//!
//! A request passes the `layers`, which identify the caller (`keys`) and enforce rate limits (`limits`). `params` parses the
//! parameters, a handler in `routes` makes one call to the store, and the response is a type of [`wire`]. Errors become
//! problem documents in one place, `error`.

mod accounts;
mod clock;
mod dexes;
mod document;
mod error;
mod json_response;
mod keys;
mod labels;
mod layers;
mod limits;
mod params;
mod response_cache;
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
