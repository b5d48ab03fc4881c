//! Decides whether compiled code is the code on the chain: a pure function of the compiler's output and the chain's code.
//!
//! There must be no false match, so every exception is narrow: bytes may differ only where the compiler declares that they
//! are set after compilation, or in the compiler's own metadata, not in bytes that merely look like it.

mod code_match;
mod creation;
mod difference;
mod fill;
mod metadata;
mod runtime;
#[cfg(test)]
mod tests;
mod vyper;

use alloy_primitives::Bytes;
pub use code_match::{CodeMatch, DeployedCode};
pub(crate) use creation::{compare_creation, creation_template};
pub use difference::Difference;
use domain::Language;
pub use domain::MatchKind;

use crate::CompiledContract;

/// The comparison of a compiled contract. Runtime code and creation code are compared independently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub runtime: Result<CodeMatch, Difference>,
    /// With the constructor arguments; None if the creation code on the chain is unknown.
    pub creation: Option<Result<(CodeMatch, Bytes), Difference>>,
}

impl Comparison {
    /// The verdict: the match of the runtime code. A constructor can return any code, so matching creation code proves nothing
    /// about the runtime code.
    #[must_use]
    pub fn verdict(&self) -> Option<MatchKind> {
        self.runtime_kind()
    }

    #[must_use]
    pub(crate) fn runtime_kind(&self) -> Option<MatchKind> {
        self.runtime.as_ref().ok().map(|found| found.kind)
    }

    #[must_use]
    pub(crate) fn creation_kind(&self) -> Option<MatchKind> {
        self.creation.as_ref().and_then(|creation| creation.as_ref().ok()).map(|(found, _)| found.kind)
    }

    /// Whether a second compilation, of sources altered by a space, could turn a difference into a match.
    #[must_use]
    pub(crate) fn needs_altered(&self) -> bool {
        let unclear = |difference: &Difference| matches!(difference, Difference::Code { maybe_metadata: true, .. });
        self.runtime.as_ref().err().is_some_and(unclear)
            || self.creation.as_ref().and_then(|creation| creation.as_ref().err()).is_some_and(unclear)
    }
}

/// Compares a compiled contract with a contract on the chain.
///
/// `altered` is the same contract compiled from sources that differ only by a space: it differs from `compiled` exactly
/// where metadata is. It is needed for code that contains the metadata of other contracts that it creates.
#[must_use]
pub fn compare(compiled: &CompiledContract, altered: Option<&CompiledContract>, chain: DeployedCode<'_>) -> Comparison {
    let runtime = match compiled.language {
        Language::Solidity => runtime::compare(compiled, altered, chain),
        Language::Vyper => vyper::compare_runtime(compiled, chain),
    };
    let creation = chain.creation.map(|creation| {
        let linked = runtime.as_ref().ok().map(|found| &found.libraries);
        let template = creation_template(compiled, altered).ok_or(Difference::NoCode)?;
        creation::compare(&template, &compiled.abi, creation, linked, altered.is_none())
    });
    Comparison { runtime, creation }
}
