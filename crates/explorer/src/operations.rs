//! What an operator does with an open store: by a command on the store itself, or through the admin interface of a service. An
//! operation returns the text that the command prints.

pub(crate) mod audits;
pub(crate) mod comparison;
pub(crate) mod contracts;
pub(crate) mod keys;
pub(crate) mod records;
pub(crate) mod snapshot;
pub(crate) mod webhooks;
