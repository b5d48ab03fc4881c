//! Starts the real binary and real or scripted nodes, and reads the whole API.

pub(crate) mod admin;
pub(crate) mod anvil;
pub(crate) mod anvil_history;
pub(crate) mod api_state;
pub(crate) mod client;
pub(crate) mod deadline;
pub(crate) mod dev_node;
pub(crate) mod expected_state;
pub(crate) mod explorer;
pub(crate) mod faulty_node;
pub(crate) mod fixture;
pub(crate) mod key_request;
pub(crate) mod missing;
pub(crate) mod node_process;
pub(crate) mod npm_node;
pub(crate) mod permits;
pub(crate) mod process;
pub(crate) mod read_api;
pub(crate) mod receiver;
pub(crate) mod rpc;
pub(crate) mod slow_proxy;
pub(crate) mod tampering_proxy;
pub(crate) mod tls;
pub(crate) mod wallet_clients;
pub(crate) mod wrong_clock;

pub(crate) use anvil::Anvil;
pub(crate) use deadline::eventually;
pub(crate) use dev_node::DevNode;
pub(crate) use expected_state::expected_state;
pub(crate) use explorer::{Launch, TestExplorer, assert_prompt_stop, explorer_command, run_explorer};
pub(crate) use faulty_node::{ANY, Fault, FaultyNode, HEADER, Script};
pub(crate) use fixture::Fixture;
pub(crate) use npm_node::NpmNode;
pub(crate) use read_api::{as_listed, read_api, read_list, try_read_list};
pub(crate) use rpc::Rpc;
