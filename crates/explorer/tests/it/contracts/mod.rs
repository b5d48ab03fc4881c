//! Contracts deployed on a real node by real compilers, verified through the API from their sources, and called.

mod calls;
mod diamonds;
mod forms;
mod found;
mod hostile;
mod hostile_diamonds;
mod packages;
mod parts;
mod past;
mod proxies;
mod refused;
pub(crate) mod yard;
