//! The real binary against real chains.

pub(crate) mod anvil;
pub(crate) mod anvil_history;
pub(crate) mod client;
pub(crate) mod deadline;
pub(crate) mod dev_node;
pub(crate) mod explorer;
pub(crate) mod faulty_node;
pub(crate) mod key_request;
pub(crate) mod lying_proxy;
pub(crate) mod npm_node;
pub(crate) mod oracle;
pub(crate) mod picture;
pub(crate) mod process;
pub(crate) mod proxy;
pub(crate) mod receiver;
pub(crate) mod rpc;
pub(crate) mod stage;
pub(crate) mod walk;
pub(crate) mod wallet_clients;

pub(crate) use anvil::Anvil;
pub(crate) use deadline::eventually;
pub(crate) use dev_node::DevNode;
pub(crate) use explorer::{Launch, TestExplorer};
pub(crate) use faulty_node::{ANY, Fault, FaultyNode, HEADER, Script};
pub(crate) use npm_node::NpmNode;
pub(crate) use oracle::ask_node;
pub(crate) use rpc::Rpc;
pub(crate) use stage::Stage;
pub(crate) use walk::{walk, walk_list};
