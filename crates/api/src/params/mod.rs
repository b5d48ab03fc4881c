//! What a request may ask, read strictly: every refusal names the field at fault.

mod address;
mod block_id;
mod body;
mod fields;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod hash;
mod key_id;
mod paging;
mod path;
mod query;
mod query_body;
mod webhook_id;
mod whole_number;

pub(crate) use address::{AddressInPath, OwnerParams, parse_address};
pub(crate) use body::{FromBody, ValidBody, read_body};
pub(crate) use fields::Fields;
pub(crate) use key_id::KeyIdParam;
pub(crate) use path::ValidPath;
pub(crate) use query::{FromQuery, Query, ValidQuery};
pub(crate) use query_body::{BodyFault, QueryBody, Selection, TradeSelection};
pub(crate) use webhook_id::{DeliveryPath, WebhookIdParam};

pub use paging::Paging;
