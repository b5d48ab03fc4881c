//! The public REST API under `/api/v1`, and the health endpoint.
//!
//! A request passes the `layers`, which identify the caller (`keys`) and enforce rate limits (`limits`). `params` parses the
//! parameters, a handler in `routes` makes one call to the store, and the response is a type of [`wire`]. Errors become
//! problem documents in one place, `error`.

pub mod dialect;
mod document;
mod error;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod json_response;
mod keys;
mod layers;
mod metrics;
mod node_call;
mod params;
mod response_cache;
mod router;
mod routes;
mod serve;
mod state;
mod streams;
mod surcharge;
pub mod wire;

pub use keys::{Caller, IssuedKey, KeyText, KeyUses, OwnerAccess, REQUESTS_PER_MINUTE, issue_key};
pub use layers::{AllowedOrigins, OriginError};
pub use metrics::{ApiMetrics, CacheMetrics, RateLimited};
pub use params::Paging;
pub use router::{list_routes, router};
pub use serve::{ConnectionLimits, serve};
pub use state::{ApiParts, ApiState};
