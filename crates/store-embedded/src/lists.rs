//! Lists of sequential ids: append at the end, truncate at the end, seek anywhere.

mod chunk;
mod cursor;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod intersection;
mod list;
mod tails;

pub(crate) use chunk::{Chunk, Entry, Role};
pub(crate) use intersection::Intersection;
pub(crate) use list::List;
pub(crate) use tails::Tails;
