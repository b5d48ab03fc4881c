use alloy_primitives::Address;

use crate::shortened;

/// The first difference that prevents a match.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    #[error("it has no code: it is abstract or an interface")]
    NoCode,
    #[error("its code is {compiled} bytes long, the code on the chain {on_chain}")]
    Length { compiled: usize, on_chain: usize },
    #[error("it is a library, and the call protection of the code on the chain names another address, {found:#x}")]
    CallProtection { found: Address },
    #[error("one immutable variable has different values in different places of the code on the chain")]
    Immutables { id: String },
    #[error("the library {} has different addresses in different places of the code on the chain", shortened(library))]
    Library { library: String },
    #[error("the code on the chain names compiler {} in its metadata, not {compiled}", shortened(on_chain))]
    Compiler { compiled: String, on_chain: String },
    #[error("the code is the same, but the metadata in the code on the chain has other fields than the compiled one")]
    MetadataFields,
    #[error(
        "the code differs from byte {offset} on ({compiled_length} bytes compiled, {on_chain_length} on the chain, {differing} of them differ)"
    )]
    Code {
        offset: usize,
        differing: usize,
        compiled_length: usize,
        on_chain_length: usize,
        /// All differing bytes look like metadata of other contracts. A second compilation can tell.
        maybe_metadata: bool,
    },
    #[error("the constructor arguments after the creation code are invalid: {0}")]
    ConstructorArguments(&'static str),
}

impl Difference {
    /// How far from a match; lower is closer.
    #[must_use]
    pub fn distance(&self) -> u64 {
        match self {
            Self::Compiler { .. } => 0,
            Self::MetadataFields => 1,
            Self::Immutables { .. } | Self::Library { .. } | Self::ConstructorArguments(_) => 2,
            Self::CallProtection { .. } => 3,
            Self::Code { differing, .. } => 10_u64.saturating_add(*differing as u64),
            Self::Length { compiled, on_chain } => 1_000_000_u64.saturating_add(compiled.abs_diff(*on_chain) as u64),
            Self::NoCode => u64::MAX,
        }
    }
}
