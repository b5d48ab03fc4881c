//! What a request may ask, read strictly: every refusal names the field at fault.

mod address;
mod block_id;
mod body;
mod hash;
mod paging;
mod path;
mod query;
mod query_body;
mod whole_number;

pub(crate) use body::{BodyFault, ValidBody};
pub(crate) use path::ValidPath;
pub(crate) use query::{FromQuery, Query, ValidQuery};
pub(crate) use query_body::{QueryBody, Selection, TradeSelection};

pub use paging::Paging;
