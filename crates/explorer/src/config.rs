//! The configuration: each group of options has a file with its options, their defaults, and what they are checked for.

pub(crate) mod admin;
pub(crate) mod bootstrap;
pub(crate) mod file;
pub(crate) mod indexing;
pub(crate) mod limits;
pub(crate) mod location;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod node;
mod options;
pub(crate) mod pages;
pub(crate) mod roles;
pub(crate) mod run_options;
pub(crate) mod service_config;
pub(crate) mod services;
mod values;
pub(crate) mod webhooks;
