//! What a request may ask, read strictly: every refusal names the field at fault.

mod address;
mod block_id;
mod hash;
mod paging;
mod path;
mod query;
mod whole_number;

pub(crate) use path::ValidPath;
pub(crate) use query::{FromQuery, Query, ValidQuery};

pub use paging::Paging;
