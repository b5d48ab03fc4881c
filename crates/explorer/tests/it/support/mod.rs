//! The real binary against real chains.

pub(crate) mod anvil;
pub(crate) mod deadline;
pub(crate) mod dev_node;
pub(crate) mod explorer;
pub(crate) mod process;
pub(crate) mod rpc;

pub(crate) use anvil::Anvil;
pub(crate) use deadline::eventually;
pub(crate) use dev_node::DevNode;
pub(crate) use explorer::{Answer, TestExplorer};
pub(crate) use rpc::Rpc;
