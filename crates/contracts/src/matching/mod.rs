//! Whether compiled code is the code on the chain. Pure: from what a compiler gave and what the chain holds to a
//! verdict with its reasons.
//!
//! A false match must never be called true, so every allowance is narrow: bytes are taken over from the chain only
//! where the compiler itself says that they are filled in later, or where the compiler's own words, and nothing that
//! merely looks like them, differ.

mod creation;
mod difference;
mod fill;
mod metadata;
mod runtime;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes};
pub use creation::{compare_creation, creation_template};
pub use difference::Difference;
pub use domain::MatchKind;

use crate::CompiledContract;

/// What stands on the chain.
#[derive(Debug, Clone, Copy)]
pub struct Deployed<'a> {
    pub address: Address,
    pub runtime: &'a [u8],
    /// The code that made the contract, constructor arguments behind it; None where it is not known.
    pub creation: Option<&'a [u8]>,
}

/// Code that agrees, and what was filled into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeMatch {
    pub kind: MatchKind,
    /// Whether the contract's own address was, as it is into libraries.
    pub names_own_address: bool,
    pub libraries: BTreeMap<String, Address>,
    /// Values that the constructor wrote into the code, by the compiler's number for the variable.
    pub immutables: BTreeMap<String, Bytes>,
}

/// How a compiled contract compares. Runtime code and creation code are judged each for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub runtime: Result<CodeMatch, Difference>,
    /// With the constructor's arguments; None where the chain's creation code is not known.
    pub creation: Option<Result<(CodeMatch, Bytes), Difference>>,
}

impl Comparison {
    /// The verdict: how the running code agrees. A constructor may return any code, so that creation code which agrees says
    /// nothing about the code that runs.
    #[must_use]
    pub fn verdict(&self) -> Option<MatchKind> {
        self.runtime_kind()
    }

    #[must_use]
    pub fn runtime_kind(&self) -> Option<MatchKind> {
        self.runtime.as_ref().ok().map(|found| found.kind)
    }

    #[must_use]
    pub fn creation_kind(&self) -> Option<MatchKind> {
        self.creation.as_ref().and_then(|creation| creation.as_ref().ok()).map(|(found, _)| found.kind)
    }

    /// Whether a second compilation, of sources altered by a space, could turn a difference into a match.
    #[must_use]
    pub fn wants_altered(&self) -> bool {
        let open = |difference: &Difference| matches!(difference, Difference::Code { maybe_metadata: true, .. });
        self.runtime.as_ref().err().is_some_and(open)
            || self.creation.as_ref().and_then(|creation| creation.as_ref().err()).is_some_and(open)
    }
}

/// Compares a compiled contract with what stands on the chain.
///
/// `altered` is the same contract of sources that differ in nothing but a space: where it differs from `compiled`, and
/// there only, metadata stands. It is needed where code carries the metadata of other contracts that it creates.
#[must_use]
pub fn compare(compiled: &CompiledContract, altered: Option<&CompiledContract>, chain: Deployed<'_>) -> Comparison {
    let runtime = runtime::compare(compiled, altered, chain);
    let creation = chain.creation.map(|creation| {
        let linked = runtime.as_ref().ok().map(|found| &found.libraries);
        let template = creation_template(compiled, altered).ok_or(Difference::NoCode)?;
        creation::compare(&template, &compiled.abi, creation, linked, altered.is_none())
    });
    Comparison { runtime, creation }
}
