//! The record that is stored for a match, and the note that is shown with it.

use std::collections::BTreeMap;

use alloy_primitives::{Address, keccak256};
use domain::{Artifacts, Language, SourceFile, UnixMillis, VerifiedCode, VerifiedContract};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use store::{Kept, StoreError, VerifiedContracts};

use crate::{
    CompilerVersion,
    code::OutputArtifacts,
    deployment::{CreationCode, prove_deployment},
    license::spdx_identifier,
    matching::{Comparison, creation_template},
    on_chain::FetchedCode,
    request::VerifyRequest,
    search::Match,
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

/// What a record needs besides the match.
pub(crate) struct Context<'a> {
    pub(crate) address: Address,
    /// Counts only if the source names none, since that one is proven with it.
    pub(crate) license: Option<&'a str>,
    pub(crate) compiler: &'a CompilerVersion,
    pub(crate) on_chain: &'a FetchedCode,
    pub(crate) artifacts: OutputArtifacts,
    pub(crate) now: UnixMillis,
}

/// The record of a match.
pub(crate) fn contract(found: &Match, context: Context<'_>) -> VerifiedContract {
    let Context { address, license: stated, compiler, on_chain, artifacts, now } = context;
    let (runtime, compiled) = (&found.runtime, &found.compiled);
    let metadata =
        serde_json::from_str(&compiled.metadata).unwrap_or(Metadata { settings: None, sources: BTreeMap::new() });
    let license = metadata.sources.get(&compiled.file).and_then(|source| source.license.clone());
    let license = license.or_else(|| spdx_identifier(found.files.get(&compiled.file)?));
    let license = license.or_else(|| documented_license(artifacts.devdoc.as_deref()?));
    // Files that the contract does not use are not proven, so they are not stored.
    let used = |path: &String| metadata.sources.is_empty() || metadata.sources.contains_key(path);
    let sources = found.files.iter().filter(|(path, _)| used(path));
    let code = VerifiedCode {
        code_hash: keccak256(&on_chain.runtime),
        name: compiled.name.clone(),
        compiler: compiler.to_string(),
        runtime_match: runtime.kind,
        license: license.or_else(|| stated.map(str::to_owned)),
        verified_at: now,
        names_own_address: runtime.names_own_address,
        file: compiled.file.clone(),
        abi: compiled.abi.clone(),
        settings: match (metadata.settings, compiled.language) {
            (Some(settings), _) => settings.get().to_owned(),
            // There is no metadata.
            (None, Language::Vyper) => Value::from(found.settings.clone()).to_string(),
            (None, Language::Solidity) => "{}".to_owned(),
        },
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
    let deployment = on_chain.creation.as_ref().map(|creation| prove_deployment(&code, creation));
    VerifiedContract { address, twin_of: None, code, deployment }
}

/// The license in the documentation of a Vyper contract.
fn documented_license(devdoc: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Documentation {
        license: Option<String>,
    }
    let named = serde_json::from_str::<Documentation>(devdoc).ok()?.license?;
    spdx_identifier(&format!("# SPDX-License-Identifier: {named}"))
}

/// Stores a verification. An existing record of the code is first compared with this deployment, so that the store can tell
/// which of the two proves more, and the deployment data is right whichever is kept.
pub(crate) async fn store(
    records: &dyn VerifiedContracts,
    contract: VerifiedContract,
    creation: Option<&CreationCode>,
) -> Result<Kept, StoreError> {
    let (address, code_hash) = (contract.address, contract.code.code_hash);
    if let (Some(known), Some(creation)) = (records.find_verified(address, code_hash).await?, creation) {
        records.save_deployment(address, code_hash, prove_deployment(&known.code, creation)).await?;
    }
    records.save_verified(contract).await
}

/// What the match does not prove.
pub(crate) fn note(comparison: &Comparison, on_chain: &FetchedCode, request: &VerifyRequest) -> Option<String> {
    let mut notes = Vec::new();
    match &comparison.creation {
        None if on_chain.creation.is_none() => {
            notes.push("The creation code of the contract is unknown, so its constructor was not verified.".to_owned());
            if request.constructor_arguments.is_some() {
                notes.push("The constructor arguments were not verified either.".to_owned());
            }
        }
        Some(Err(difference)) => {
            notes.push(format!("Its constructor was not verified: in the creation code, {difference}."));
        }
        _ => {}
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}
