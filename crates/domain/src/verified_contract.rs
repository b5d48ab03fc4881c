use std::ops::Range;

use alloy_primitives::{Address, B256, Bytes, Keccak256};

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
    /// Tells what was compiled apart from every other compilation.
    pub build: B256,
    pub name: String,
    /// The compiler's whole version.
    pub compiler: String,
    /// The verdict. Without a match of the running code there is none.
    pub runtime_match: MatchKind,
    /// Of the deployment that stands; None where its creation code is not known or does not agree: then the constructor is
    /// unproven.
    pub creation_match: Option<MatchKind>,
    pub license: Option<String>,
    pub verified_at: UnixMillis,
    /// Where the very same code was verified, if not at the address itself.
    pub twin_of: Option<Address>,
}

/// Verified code at an address, and what is known of its deployment there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedContract {
    pub address: Address,
    /// Where the very same code was verified, if not at the address itself.
    pub twin_of: Option<Address>,
    pub code: VerifiedCode,
    /// None where it was not worked out for the creation that stands.
    pub deployment: Option<Deployment>,
}

impl VerifiedContract {
    /// How the creation code of this deployment agrees, if it is known and does.
    #[must_use]
    pub fn creation_match(&self) -> Option<MatchKind> {
        self.deployment.as_ref().and_then(|deployment| deployment.proof.as_ref()).map(|proof| proof.kind)
    }

    /// What the constructor of this deployment got, if that is proven.
    #[must_use]
    pub fn constructor_arguments(&self) -> Option<&Bytes> {
        self.deployment.as_ref().and_then(|deployment| deployment.proof.as_ref()).map(|proof| &proof.arguments)
    }
}

/// Sources that give some code, and all that it took to find out. True of the code wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCode {
    pub code_hash: B256,
    pub name: String,
    /// The compiler's whole version.
    pub compiler: String,
    pub runtime_match: MatchKind,
    pub license: Option<String>,
    pub verified_at: UnixMillis,
    /// Whether the code names the address at which it was verified as its own, as libraries do: then it is the code of these
    /// sources there, and a copy elsewhere is not.
    pub names_own_address: bool,
    /// The source that defines the contract.
    pub file: String,
    /// The interface, as JSON.
    pub abi: String,
    /// The compiler's settings as its metadata tells them, as JSON.
    pub settings: String,
    /// The sources that the contract is made of, and no others.
    pub sources: Vec<SourceFile>,
    /// Addresses of libraries that stand in the running code, by `file:Name`.
    pub libraries: Vec<(String, Address)>,
    pub artifacts: Artifacts,
    pub creation: CreationTemplate,
}

impl VerifiedCode {
    /// Tells what was compiled apart from every other compilation: what is worked out with one does not hold for another.
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

/// What a compiler gives beside code, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artifacts {
    /// To the byte: its hash may stand in the code.
    pub metadata: String,
    /// None from compilers before 0.5.13.
    pub storage_layout: Option<String>,
    pub userdoc: Option<String>,
    pub devdoc: Option<String>,
    /// The settings that the compiler was given, as JSON.
    pub input_settings: String,
}

/// Compiled creation code, with the places in it that differ from one deployment to the next. Any deployment can be compared
/// with it later without compiling again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationTemplate {
    /// With zeros where the address of a library is missing.
    pub code: Bytes,
    pub links: Vec<LibraryPlace>,
    /// Where the compiler's metadata stands.
    pub metadata: Vec<Range<usize>>,
    /// Whether the code carries a hash over its sources.
    pub proves_sources: bool,
}

/// A place for the address of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryPlace {
    /// `file:Name` where the compiler tells it, else the placeholder.
    pub library: String,
    pub start: usize,
}

/// How one deployment of verified code came about, as far as its creation code tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// What it was worked out for.
    pub creation: CreationId,
    /// What it was compared with, see [`VerifiedCode::build`].
    pub build: B256,
    /// None where the creation code does not agree.
    pub proof: Option<CreationProof>,
}

/// One execution of a transaction that created a contract. The same transaction in another block may have run another course.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CreationId {
    pub tx_hash: B256,
    pub block_hash: B256,
}

/// Creation code that agrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreationProof {
    pub kind: MatchKind,
    /// What the constructor got.
    pub arguments: Bytes,
    /// Libraries that stand in the creation code, by `file:Name`.
    pub libraries: Vec<(String, Address)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// A name, and never a path on any disk.
    pub path: String,
    pub content: String,
}
