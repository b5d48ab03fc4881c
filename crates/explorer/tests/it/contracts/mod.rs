//! Contracts deployed on a real node by real compilers, verified through the API from their sources, and called.

mod calls;
mod compilers;
mod forms;
mod found;
mod hostile;
mod leftovers;
mod packages;
mod parts;
mod proxies;
mod refused;
mod turns;
pub(crate) mod yard;
