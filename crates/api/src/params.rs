//! Strict parsing of request parameters and bodies: every error names the invalid field.

mod address;
mod block_id;
mod blocks;
mod body;
mod body_error;
mod fields;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod hash;
mod job_id;
mod json;
mod key_id;
mod paging;
mod path;
mod query;
mod query_body;
mod token_id;
mod webhook_id;
mod whole_number;

pub(crate) use address::{AddressInPath, OwnerParams, parse_address};
pub(crate) use block_id::BlockInPath;
pub(crate) use blocks::Blocks;
pub use body::ReadBody;
pub(crate) use body::{FromBody, ValidBody, read_body, read_body_if};
pub(crate) use body_error::{BODY_TIMEOUT, BodyError};
pub(crate) use fields::Fields;
pub(crate) use hash::TransactionInPath;
pub(crate) use key_id::KeyIdParam;
pub use paging::Paging;
pub(crate) use path::ValidPath;
pub(crate) use query::{FromQuery, Query, ValidQuery};
pub(crate) use query_body::{QueryBody, Selection, TradeSelection};
pub(crate) use token_id::TokenIdPath;
pub(crate) use webhook_id::{DeliveryPath, WebhookIdParam};
