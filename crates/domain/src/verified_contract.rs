use std::ops::Range;

use alloy_primitives::{Address, B256, Bytes, Keccak256};

use crate::UnixMillis;

/// How well compiled code matches the code on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchKind {
    /// The code matches, but not the metadata hash, or there is none: names and comments are not proven.
    Partial,
    /// Every byte of the code matches, including a hash over all sources and settings.
    Exact,
}

/// The language of a source. Ordered so that a list of compilers, newest first, starts with Solidity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Vyper,
    #[default]
    Solidity,
}

impl Language {
    /// What the version of a Vyper compiler starts with; that of a Solidity compiler has no prefix.
    pub const VYPER_PREFIX: &str = "vyper:";

    /// The language of a full compiler version, and the version without its prefix.
    #[must_use]
    pub fn of_compiler(compiler: &str) -> (Self, &str) {
        match compiler.strip_prefix(Self::VYPER_PREFIX) {
            Some(version) => (Self::Vyper, version),
            None => (Self::Solidity, compiler),
        }
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Solidity => "Solidity",
            Self::Vyper => "Vyper",
        }
    }
}

/// A verified contract in lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSummary {
    pub address: Address,
    /// The hash of the verified code. Other code at the address is not verified.
    pub code_hash: B256,
    /// Identifies the compilation, see [`VerifiedCode::build`].
    pub build: B256,
    pub name: String,
    /// The full compiler version, see [`Language::of_compiler`].
    pub compiler: String,
    /// The verdict: a match of the runtime code is required.
    pub runtime_match: MatchKind,
    /// For the current deployment; None if its creation code is unknown or does not match: then the constructor is not
    /// proven.
    pub creation_match: Option<MatchKind>,
    pub license: Option<String>,
    pub verified_at: UnixMillis,
    /// The address where the same code was verified, if not this one.
    pub twin_of: Option<Address>,
}

/// Verified code at an address, with the proof of its deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedContract {
    pub address: Address,
    /// The address where the same code was verified, if not this one.
    pub twin_of: Option<Address>,
    pub code: VerifiedCode,
    /// None if it was not computed for the current creation.
    pub deployment: Option<Deployment>,
}

impl VerifiedContract {
    /// The match of the creation code, if it is known and matches.
    #[must_use]
    pub fn creation_match(&self) -> Option<MatchKind> {
        self.deployment.as_ref().and_then(|deployment| deployment.proof.as_ref()).map(|proof| proof.kind)
    }

    /// The constructor arguments of this deployment, if proven.
    #[must_use]
    pub fn constructor_arguments(&self) -> Option<&Bytes> {
        self.deployment.as_ref().and_then(|deployment| deployment.proof.as_ref()).map(|proof| &proof.arguments)
    }
}

/// Sources that compile to some code, with settings and artifacts. Valid for this code at any address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCode {
    pub code_hash: B256,
    pub name: String,
    /// The full compiler version, see [`Language::of_compiler`].
    pub compiler: String,
    pub runtime_match: MatchKind,
    pub license: Option<String>,
    pub verified_at: UnixMillis,
    /// Whether the code contains the address where it was verified, as libraries do: then a copy at another address is not
    /// verified.
    pub names_own_address: bool,
    /// The file that defines the contract.
    pub file: String,
    /// The ABI, as JSON.
    pub abi: String,
    /// The settings in the compiler's metadata, as JSON.
    pub settings: String,
    /// Only the sources that the contract uses.
    pub sources: Vec<SourceFile>,
    /// Addresses of libraries linked in the runtime code, by `file:Name`.
    pub libraries: Vec<(String, Address)>,
    pub artifacts: Artifacts,
    pub creation: CreationTemplate,
}

impl VerifiedCode {
    #[must_use]
    pub fn language(&self) -> Language {
        Language::of_compiler(&self.compiler).0
    }

    /// Identifies the compilation: a deployment proof of one compilation is not valid for another.
    #[must_use]
    pub fn build(&self) -> B256 {
        let mut digest = Keccak256::new();
        let mut part = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_be_bytes());
            digest.update(bytes);
        };
        for text in [&self.file, &self.name, &self.compiler, &self.abi, &self.artifacts.metadata] {
            part(text.as_bytes());
        }
        part(&self.creation.code);
        for link in &self.creation.links {
            part(link.library.as_bytes());
            part(&(link.start as u64).to_be_bytes());
        }
        for region in &self.creation.metadata {
            part(&(region.start as u64).to_be_bytes());
        }
        part(&[u8::from(self.creation.proves_sources)]);
        digest.finalize()
    }
}

/// Compiler outputs other than code, unmodified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artifacts {
    /// Byte for byte, since its hash may be in the code.
    pub metadata: String,
    /// None for compilers before 0.5.13.
    pub storage_layout: Option<String>,
    pub userdoc: Option<String>,
    pub devdoc: Option<String>,
    /// The settings of the compiler's input, as JSON.
    pub input_settings: String,
}

/// Compiled creation code and where deployments may differ, so that any deployment can be compared later without compiling
/// again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationTemplate {
    /// With zeros in place of library addresses.
    pub code: Bytes,
    pub links: Vec<LibraryOffset>,
    /// The ranges of the compiler's metadata.
    pub metadata: Vec<Range<usize>>,
    /// Whether the code contains a hash over its sources.
    pub proves_sources: bool,
}

/// Where the address of a library is linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryOffset {
    /// `file:Name` if the compiler gives it, else the placeholder.
    pub library: String,
    pub start: usize,
}

/// What the creation code proves about a deployment of verified code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// The creation that was compared.
    pub creation: CreationId,
    /// The compilation it was compared with, see [`VerifiedCode::build`].
    pub build: B256,
    /// None if the creation code does not match.
    pub proof: Option<CreationProof>,
}

/// An execution of a transaction that created a contract. In another block the same transaction may execute differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CreationId {
    pub tx_hash: B256,
    pub block_hash: B256,
}

/// A match of the creation code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreationProof {
    pub kind: MatchKind,
    /// The constructor arguments.
    pub arguments: Bytes,
    /// Libraries linked in the creation code, by `file:Name`.
    pub libraries: Vec<(String, Address)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// A name, never a path on a disk.
    pub path: String,
    pub content: String,
}
