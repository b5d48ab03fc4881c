//! Decodes node responses in one pass, keeping only the fields that are used.

mod block;
mod call_tree;
mod envelope;
mod flat;
mod internal;
mod quantity;
mod receipt;
mod state_changes;
#[cfg(test)]
mod tests;
mod trace;
mod uncle;

pub(crate) use block::{RawAccess, RawAuthorization, RawBlock, RawGenesis, RawHeader, RawTransaction, RawWithdrawal};
pub(crate) use call_tree::RawCallTree;
pub(crate) use envelope::{Decoded, Decoder, ErrorObject, ResponseError, decode, readable, split_batch};
pub(crate) use flat::MAX_DEPTH;
pub(crate) use flat::RawFlatCalls;
pub(crate) use internal::{RawBlockCalls, RawCalls};
pub(crate) use quantity::{Account20, CappedBytes, Hash, HexBytes, LooseBytes, Present, Price, Quantity, Wide};
pub(crate) use receipt::{RawLog, RawReceipt};
pub(crate) use state_changes::RawStateChanges;
pub(crate) use trace::{RawCallCreations, RawFlatCreations};
pub(crate) use uncle::RawUncle;
