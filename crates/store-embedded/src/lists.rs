//! Lists of running numbers: append at the end, cut from the end, seek anywhere.

mod chunk;
mod cursor;
mod list;
mod tails;

pub(crate) use chunk::{Entry, Role, Roles};
pub(crate) use cursor::Cursor;
pub(crate) use list::List;
pub(crate) use tails::Tails;
