//! The search for the contract, the settings and the file names that compile to the code on the chain.

mod compile;
mod found;
mod refusal;
mod selectors;
mod solidity;
mod vyper;

pub(crate) use found::{Files, Match, SearchResult, Settings};
pub use refusal::{Refusal, SearchExtent, StopReason};
pub use selectors::FunctionDifference;
pub(crate) use solidity::{SoliditySearch, compile_artifacts};
pub(crate) use vyper::{VyperSearch, describe_match};
