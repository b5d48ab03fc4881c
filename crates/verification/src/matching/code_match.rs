use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes};
use domain::MatchKind;

/// The code of a contract on the chain.
#[derive(Debug, Clone, Copy)]
pub struct DeployedCode<'a> {
    pub address: Address,
    pub runtime: &'a [u8],
    /// The creation code followed by the constructor arguments; None if unknown.
    pub creation: Option<&'a [u8]>,
}

/// A match, and the values that were filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeMatch {
    pub kind: MatchKind,
    /// Whether the contract's own address was filled in, as in libraries.
    pub names_own_address: bool,
    pub libraries: BTreeMap<String, Address>,
    /// Values that the constructor wrote into the code, by the compiler's AST id of the variable.
    pub immutables: BTreeMap<String, Bytes>,
}
