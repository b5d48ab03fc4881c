//! Contracts deployed on a real node by real compilers, verified through the API from their sources, and called.

mod artifacts;
mod calls;
mod compilers;
mod deployments;
mod diamonds;
mod false_matches;
mod forms;
mod found;
mod hostile;
mod hostile_diamonds;
mod leftovers;
mod messages;
mod metadata_json;
mod packages;
mod parts;
mod past;
mod proxies;
mod real_sources;
mod refused;
mod turns;
pub(crate) mod yard;
