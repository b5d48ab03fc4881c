//! The commands, each with a file or folder; `explorer demo` is beside them.

pub(crate) mod admin;
pub(crate) mod check;
pub(crate) mod contracts;
pub(crate) mod database;
pub(crate) mod keys;
pub(crate) mod manual;
pub(crate) mod records;
pub(crate) mod reindex;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod snapshot;
mod target;
pub(crate) mod webhooks;
