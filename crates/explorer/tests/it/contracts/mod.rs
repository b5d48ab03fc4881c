//! Contracts deployed on a real node by real compilers, verified through the API from their sources, and called.

mod artifacts;
mod calls;
mod deployments;
mod diamonds;
mod false_matches;
mod forms;
mod found;
mod hostile;
mod hostile_diamonds;
mod messages;
mod metadata_json;
mod packages;
mod parts;
mod past;
mod proxies;
mod real_sources;
mod refused;
pub(crate) mod yard;
