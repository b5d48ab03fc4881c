use alloy_primitives::{Address, B256, Bytes};

use crate::UnixMillis;

/// How well compiled code agrees with the code on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchKind {
    /// The code agrees; the metadata does not, or says nothing of the sources: names, comments and the like are
    /// unproven.
    Partial,
    /// The code agrees to the byte, and with it a hash over every source and setting.
    Exact,
}

/// What lists tell of a verified contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSummary {
    pub address: Address,
    /// Of the code that was verified. Other code at the address later is not.
    pub code_hash: B256,
    pub name: String,
    /// The compiler's whole version.
    pub compiler: String,
    /// None where the running code did not agree, and the creation code alone did.
    pub runtime_match: Option<MatchKind>,
    /// None where the creation code is not known or did not agree: then the constructor is unproven.
    pub creation_match: Option<MatchKind>,
    pub license: Option<String>,
    pub verified_at: UnixMillis,
}

impl VerifiedSummary {
    /// The better of the two matches.
    #[must_use]
    pub fn kind(&self) -> MatchKind {
        self.runtime_match.max(self.creation_match).unwrap_or(MatchKind::Partial)
    }

    /// Whether this proves more than another verification of the same code.
    #[must_use]
    pub fn proves_more_than(&self, other: &Self) -> bool {
        let proof = |summary: &Self| (summary.kind(), summary.runtime_match, summary.creation_match);
        proof(self) > proof(other)
    }
}

/// Source code that gives the code of a contract, and all that it took to find out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedContract {
    pub summary: VerifiedSummary,
    /// The source that defines the contract.
    pub file: String,
    /// The interface, as JSON.
    pub abi: String,
    /// The compiler's settings, as JSON.
    pub settings: String,
    /// The sources that the contract is made of, and no others.
    pub sources: Vec<SourceFile>,
    /// Addresses of libraries that stand in the code, by `file:Name`.
    pub libraries: Vec<(String, Address)>,
    /// As they stand behind the creation code; None where that is not known.
    pub constructor_arguments: Option<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// A name, and never a path on any disk.
    pub path: String,
    pub content: String,
}
