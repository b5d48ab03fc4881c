//! What is kept of a match, and what is said beside it.

use std::collections::BTreeMap;

use alloy_primitives::keccak256;
use domain::{Artifacts, SourceFile, UnixMillis, VerifiedCode, VerifiedContract};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use store::{Kept, StoreError, VerifiedContracts};

use super::{OnChain, VerifyRequest, license::spdx_identifier, search::Match};
use crate::{
    CompilerVersion,
    code::OutputArtifacts,
    deployment::{KnownCreation, work_out},
    matching::{Comparison, creation_template},
};

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    settings: Option<&'a RawValue>,
    #[serde(default)]
    sources: BTreeMap<String, Source>,
}

#[derive(Deserialize)]
struct Source {
    license: Option<String>,
}

/// What came of a match beside itself.
pub(super) struct Context<'a> {
    pub(super) request: &'a VerifyRequest,
    pub(super) compiler: &'a CompilerVersion,
    pub(super) on_chain: &'a OnChain,
    pub(super) artifacts: OutputArtifacts,
    pub(super) now: UnixMillis,
}

/// What there is to keep.
pub(super) fn contract(found: &Match, context: Context<'_>) -> VerifiedContract {
    let Context { request, compiler, on_chain, artifacts, now } = context;
    let (runtime, compiled) = (&found.runtime, &found.compiled);
    let metadata =
        serde_json::from_str(&compiled.metadata).unwrap_or(Metadata { settings: None, sources: BTreeMap::new() });
    let license = metadata.sources.get(&compiled.file).and_then(|source| source.license.clone());
    let license = license.or_else(|| spdx_identifier(found.files.get(&compiled.file)?));
    // Sources that the contract is not made of prove nothing, and are not shown as if they did.
    let used = |path: &String| metadata.sources.is_empty() || metadata.sources.contains_key(path);
    let sources = found.files.iter().filter(|(path, _)| used(path));
    let code = VerifiedCode {
        code_hash: keccak256(&on_chain.runtime),
        name: compiled.name.clone(),
        compiler: compiler.to_string(),
        runtime_match: runtime.kind,
        // What the source says is proven with it; a claim counts only where it says nothing.
        license: license.or_else(|| request.license.clone()),
        verified_at: now,
        names_own_address: runtime.names_own_address,
        file: compiled.file.clone(),
        abi: compiled.abi.clone(),
        settings: metadata.settings.map_or_else(|| "{}".to_owned(), |settings| settings.get().to_owned()),
        sources: sources.map(|(path, content)| SourceFile { path: path.clone(), content: content.clone() }).collect(),
        libraries: runtime.libraries.iter().map(|(library, address)| (library.clone(), *address)).collect(),
        artifacts: Artifacts {
            metadata: compiled.metadata.clone(),
            storage_layout: artifacts.storage_layout,
            userdoc: artifacts.userdoc,
            devdoc: artifacts.devdoc,
            input_settings: Value::from(found.settings.clone()).to_string(),
        },
        creation: creation_template(compiled, found.altered.as_ref()).unwrap_or_default(),
    };
    let deployment = on_chain.creation.as_ref().map(|creation| work_out(&code, creation));
    VerifiedContract { address: request.address, twin_of: None, code, deployment }
}

/// Keeps a verification. What is known of the code already is held against this deployment first: so the store can tell which
/// of the two proves more of it, and what is told of the deployment is that of the one which stands, whichever stays.
pub(super) async fn keep(
    records: &dyn VerifiedContracts,
    contract: VerifiedContract,
    creation: Option<&KnownCreation>,
) -> Result<Kept, StoreError> {
    let (address, code_hash) = (contract.address, contract.code.code_hash);
    if let (Some(known), Some(creation)) = (records.find_verified(address, code_hash).await?, creation) {
        records.keep_deployment(address, code_hash, work_out(&known.code, creation)).await?;
    }
    records.keep_verified(contract).await
}

/// What the match leaves open.
pub(super) fn note(comparison: &Comparison, on_chain: &OnChain, request: &VerifyRequest) -> Option<String> {
    let mut notes = Vec::new();
    match &comparison.creation {
        None if on_chain.creation.is_none() => {
            notes.push(
                "The code that created the contract is not known, so its constructor was not verified.".to_owned(),
            );
            if request.constructor_arguments.is_some() {
                notes.push("Nor could the constructor arguments be.".to_owned());
            }
        }
        Some(Err(difference)) => {
            notes.push(format!("Its constructor was not verified: in the creation code, {difference}."));
        }
        _ => {}
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}
