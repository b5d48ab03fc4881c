//! Verification with the output of a compiler that ran before, for sources that are part of a program. The comparison with
//! the chain and the record are those of any verification.

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, keccak256};
use domain::{Language, UnixMillis, VerifiedContract};
use futures::future::BoxFuture;
use node::NodeClient;
use serde::Deserialize;
use serde_json::{Map, Value};
use store::{ChainReader, StoreError, VerifiedContracts};

use crate::{
    CompiledContract, CompilerVersion, VersionError,
    code::{CompilerOutput, OutputArtifacts},
    error::VerifyError,
    matching::{Difference, compare},
    on_chain::{FetchedCode, wait_until_indexed},
    record,
    search::{Files, Match, Settings},
};

/// One contract, as a compiler compiled it.
#[derive(Debug, Clone)]
pub struct Compilation {
    compiler: CompilerVersion,
    files: Files,
    settings: Settings,
    compiled: CompiledContract,
    artifacts: OutputArtifacts,
}

/// Why the output of a compiler cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CompilationError {
    #[error("the output of the compiler is invalid: {0}")]
    Output(String),
    #[error("the output has {0} contracts instead of one")]
    NotOneContract(usize),
    #[error("the metadata of the contract cannot be read")]
    Metadata(#[source] serde_json::Error),
    #[error("the compiler version in the metadata {0}")]
    Version(VersionError),
    #[error("{0} is not the source that was compiled")]
    OtherSource(String),
}

#[derive(Deserialize)]
struct Metadata {
    compiler: Compiler,
    sources: BTreeMap<String, Source>,
}

#[derive(Deserialize)]
struct Compiler {
    version: String,
}

#[derive(Deserialize)]
struct Source {
    keccak256: B256,
}

impl Compilation {
    /// Reads the output of the Solidity compiler for one contract. The sources must have the hashes that its metadata has:
    /// they are shown as what was compiled.
    pub fn read(
        output: &str,
        sources: BTreeMap<String, String>,
        settings: Map<String, Value>,
    ) -> Result<Self, CompilationError> {
        let read = CompilerOutput::read(output, Language::Solidity);
        let contracts = read.map_err(|error| CompilationError::Output(error.to_string()))?.contracts;
        let [compiled] = &contracts[..] else { return Err(CompilationError::NotOneContract(contracts.len())) };
        let metadata: Metadata = serde_json::from_str(&compiled.metadata).map_err(CompilationError::Metadata)?;
        for (path, source) in metadata.sources {
            if sources.get(&path).is_none_or(|text| keccak256(text) != source.keccak256) {
                return Err(CompilationError::OtherSource(path));
            }
        }
        let compiler = CompilerVersion::parse(&metadata.compiler.version, Language::Solidity);
        Ok(Self {
            compiler: compiler.map_err(CompilationError::Version)?,
            artifacts: OutputArtifacts::read(output, &compiled.file, &compiled.name),
            compiled: compiled.clone(),
            files: sources,
            settings,
        })
    }
}

/// Records contracts that match a compilation.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct CompilationRecorder {
    pub node: NodeClient,
    pub chain: Arc<dyn ChainReader>,
    pub records: Arc<dyn VerifiedContracts>,
}

/// Why a contract is not recorded as verified.
#[derive(Debug, thiserror::Error)]
pub enum NotRecorded {
    #[error("{0}")]
    Differs(Difference),
    #[error(transparent)]
    Unavailable(#[from] VerifyError),
}

impl From<StoreError> for NotRecorded {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl CompilationRecorder {
    /// Compares the code at an address with a compilation, and records the contract as verified if it matches.
    pub fn record<'a>(
        &'a self,
        address: Address,
        compilation: &'a Compilation,
        now: UnixMillis,
    ) -> BoxFuture<'a, Result<VerifiedContract, NotRecorded>> {
        Box::pin(async move {
            let on_chain = FetchedCode::read(&self.node, &*self.chain, address).await?;
            let comparison = compare(&compilation.compiled, None, on_chain.deployed_at(address));
            let runtime = comparison.runtime.clone().map_err(NotRecorded::Differs)?;
            let found = Match {
                runtime,
                comparison,
                compiled: compilation.compiled.clone(),
                altered: None,
                files: compilation.files.clone(),
                settings: compilation.settings.clone(),
            };
            let context = record::Context {
                address,
                license: None,
                compiler: &compilation.compiler,
                on_chain: &on_chain,
                artifacts: compilation.artifacts.clone(),
                now,
            };
            let contract = record::contract(&found, context);
            wait_until_indexed(&*self.chain, address, contract.code.code_hash).await?;
            record::store(&*self.records, contract.clone(), on_chain.creation.as_ref()).await?;
            Ok(contract)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SOURCE: &str = "contract A {}";

    fn output(version: &str) -> String {
        let sources = json!({ "a.sol": { "keccak256": keccak256(SOURCE).to_string() } });
        let metadata = json!({ "compiler": { "version": version }, "sources": sources }).to_string();
        let evm = json!({ "bytecode": { "object": "6001" }, "deployedBytecode": { "object": "60" } });
        json!({ "contracts": { "a.sol": { "A": { "abi": [], "metadata": metadata, "evm": evm } } } }).to_string()
    }

    fn read(output: &str, source: &str) -> Result<Compilation, CompilationError> {
        Compilation::read(output, BTreeMap::from([("a.sol".to_owned(), source.to_owned())]), Map::new())
    }

    #[test]
    fn only_the_compiled_source_is_accepted() {
        let output = output("0.8.30+commit.73712a01");
        assert_eq!(read(&output, SOURCE).unwrap().compiler.to_string(), "0.8.30+commit.73712a01");
        let Err(CompilationError::OtherSource(path)) = read(&output, "contract A { }") else { panic!("accepted") };
        assert_eq!(path, "a.sol");
    }

    #[test]
    fn an_output_without_a_contract_or_a_known_compiler_is_refused() {
        assert!(matches!(read("{}", SOURCE), Err(CompilationError::NotOneContract(0))));
        assert!(matches!(read("no", SOURCE), Err(CompilationError::Output(_))));
        assert!(matches!(read(&output("nightly"), SOURCE), Err(CompilationError::Version(_))));
    }
}
