//! What a node writes, read in one pass into no more than is kept.

mod block;
mod envelope;
mod quantity;
mod receipt;

pub(crate) use block::{RawBlock, RawHeader, RawTransaction};
pub(crate) use envelope::{AnswerError, ErrorObject, decode, split_batch};
pub(crate) use quantity::{HexBytes, Quantity, Wide};
#[cfg(test)]
pub(crate) use receipt::RawLog;
pub(crate) use receipt::RawReceipt;
