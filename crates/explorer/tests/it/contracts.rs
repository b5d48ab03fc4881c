//! Contracts deployed on a real node by real compilers, verified through the API from their sources, and called.

mod artifacts;
mod calls;
mod compiler_processes;
mod compilers;
mod deployments;
mod diamonds;
mod false_matches;
mod found;
pub(crate) mod hostile;
mod hostile_diamonds;
mod messages;
mod metadata_json;
mod packages;
mod parts;
mod past_blocks;
mod proxies;
mod real_sources;
mod refused;
mod scheduling;
mod source_formats;
pub(crate) mod verifier_fixture;
pub(crate) mod vyper;
