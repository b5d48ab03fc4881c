//! What is kept of a match, and what is said beside it.

use std::collections::BTreeMap;

use alloy_primitives::B256;
use domain::{SourceFile, UnixMillis, VerifiedContract, VerifiedSummary};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{VerifyRequest, license::spdx_identifier, search::Match};
use crate::{
    CompilerVersion,
    matching::{Comparison, Deployed},
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

pub(super) fn contract(
    found: &Match,
    request: &VerifyRequest,
    compiler: &CompilerVersion,
    code_hash: B256,
    now: UnixMillis,
) -> VerifiedContract {
    let compiled = &found.compiled;
    let metadata =
        serde_json::from_str(&compiled.metadata).unwrap_or(Metadata { settings: None, sources: BTreeMap::new() });
    let license = metadata.sources.get(&compiled.file).and_then(|source| source.license.clone());
    let license = license.or_else(|| spdx_identifier(found.files.get(&compiled.file)?));
    // Sources that the contract is not made of prove nothing, and are not shown as if they did.
    let used = |path: &String| metadata.sources.is_empty() || metadata.sources.contains_key(path);
    let sources = found.files.iter().filter(|(path, _)| used(path));
    VerifiedContract {
        summary: VerifiedSummary {
            address: request.address,
            code_hash,
            name: compiled.name.clone(),
            compiler: compiler.to_string(),
            runtime_match: found.comparison.runtime_kind(),
            creation_match: found.comparison.creation_kind(),
            // What the source says is proven with it; a claim counts only where it says nothing.
            license: license.or_else(|| request.license.clone()),
            verified_at: now,
        },
        file: compiled.file.clone(),
        abi: compiled.abi.clone(),
        settings: metadata.settings.map_or_else(|| "{}".to_owned(), |settings| settings.get().to_owned()),
        sources: sources.map(|(path, content)| SourceFile { path: path.clone(), content: content.clone() }).collect(),
        libraries: found.libraries().map(|(library, address)| (library.clone(), *address)).collect(),
        constructor_arguments: match &found.comparison.creation {
            Some(Ok((_, arguments))) => Some(arguments.clone()),
            _ => None,
        },
    }
}

/// What the match leaves open.
pub(super) fn note(comparison: &Comparison, chain: Deployed<'_>, request: &VerifyRequest) -> Option<String> {
    let mut notes = Vec::new();
    match &comparison.creation {
        None if chain.creation.is_none() => {
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
    if let Err(difference) = &comparison.runtime {
        notes.push(format!("Only the code that created the contract agrees: in the running code, {difference}."));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}
