//! Lists of running numbers: append at the end, cut from the end, seek anywhere.

mod chunk;
mod common;
mod cursor;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod list;
mod tails;

pub(crate) use chunk::{Entry, Role, Roles};
pub(crate) use common::Common;
pub(crate) use list::List;
pub(crate) use tails::Tails;
