//! The calls to a node, by what they ask for: each file has the requests and the checks of their responses.

mod access_list;
mod accounts;
pub(crate) mod balances;
mod block_header;
pub(crate) mod block_param;
mod blocks;
pub(crate) mod calls;
mod chain;
pub(crate) mod code;
pub(crate) mod contract_calls;
mod forward;
pub(crate) mod logs;
mod storage;
mod traces;
mod transactions;
