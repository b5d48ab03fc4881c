//! The way by the metadata: its hash stands in the code, so settings and file names are tried on it without compiling.

use std::time::{Duration, Instant};

use alloy_primitives::Address;
use serde_json::{Map, json};

use super::{Files, Match, Search, Settings};
use crate::{
    Auxdata, CompiledContract, MetadataHash,
    settings::{EvmVersion, Hit, MetadataTemplate, Oracle, SettingsChoice, all_choices, likely_paths},
    verify::{VerifyError, build},
};

/// Contracts of a source whose metadata is tried.
const ASKED: usize = 6;
/// File names that are tried with every combination of settings; the others with usual ones.
const FIRST_PATHS: usize = 24;
/// For trying settings on metadata, over all variants of a source.
const ORACLE_TIME: Duration = Duration::from_secs(10);

impl Search<'_> {
    /// Tries settings and file names on the metadata, for each way in which the source may have been changed on its way
    /// here; what hits the hash is compiled.
    pub(super) async fn ask_oracle(
        &mut self,
        files: &Files,
        base: &Settings,
        contracts: &[CompiledContract],
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let Some(wanted) = self.tail.as_ref().and_then(Auxdata::hash) else { return Ok(None) };
        let until = self.until.min(Instant::now() + ORACLE_TIME);
        let mut first = Some(contracts.to_vec());
        let variants = build::variants(files);
        let mut ways: Vec<(&Files, Settings)> = variants.iter().map(|files| (files, base.clone())).collect();
        ways.insert(1, (files, with_literal_content(base)));
        for (files, settings) in ways {
            let contracts = match first.take() {
                Some(contracts) => contracts,
                None => match self.metadata_of(files, &settings).await? {
                    Ok(contracts) => contracts,
                    Err(_) => continue,
                },
            };
            for contract in contracts.iter().take(ASKED) {
                let others = contracts.iter().map(|other| other.name.as_str());
                let Some(hit) = self.search_metadata(contract, others, wanted, until, &[]).await else { continue };
                tracing::debug!(?hit, tried = self.hashes, "the hash of the metadata is hit");
                if let Some(found) = self.compile_hit(files, &settings, contract, &hit, &[]).await? {
                    return Ok(Some(found));
                }
            }
            if Instant::now() >= until {
                break;
            }
        }
        Ok(None)
    }

    async fn search_metadata<'b>(
        &mut self,
        contract: &'b CompiledContract,
        others: impl Iterator<Item = &'b str>,
        wanted: MetadataHash,
        until: Instant,
        libraries: &[(String, Address)],
    ) -> Option<Hit> {
        let single = self.request.sources.single_file().is_some();
        let paths = if single { likely_paths(&contract.name, others) } else { vec![contract.file.clone()] };
        let (metadata, compiler) = (contract.metadata.clone(), self.compiler.version.clone());
        let libraries = libraries.to_vec();
        let work = tokio::task::spawn_blocking(move || {
            let template = MetadataTemplate::new(&metadata)?;
            let oracle = Oracle::new(&template, wanted);
            let all = all_choices(&template, &compiler);
            let default = EvmVersion::default_of(&compiler);
            let usual: Vec<SettingsChoice> = all
                .iter()
                .filter(|choice| choice.evm_version.is_none_or(|own| Some(own) == default))
                .copied()
                .collect();
            let mut tried = 0;
            for (paths, choices) in [(&paths[..], &usual), (&paths[..paths.len().min(FIRST_PATHS)], &all)] {
                let (hit, more) = oracle.search(paths, choices, &libraries, until);
                tried += more;
                if hit.is_some() {
                    return Some((hit, tried));
                }
            }
            Some((None, tried))
        });
        let (hit, tried) = work.await.ok()??;
        self.hashes += tried;
        hit
    }

    async fn compile_hit(
        &mut self,
        files: &Files,
        settings: &Settings,
        contract: &CompiledContract,
        hit: &Hit,
        libraries: &[(String, Address)],
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let mut settings = settings.clone();
        hit.choice.apply(&mut settings);
        let mut files = files.clone();
        let mut file = contract.file.clone();
        if let (Some(path), Some(_)) = (&hit.path, self.request.sources.single_file()) {
            files = files.into_values().map(|content| (path.clone(), content)).collect();
            file = path.clone();
        }
        if !libraries.is_empty() {
            let named = libraries.iter().map(|(library, address)| (library.clone(), json!(address.to_string())));
            settings.insert("libraries".to_owned(), json!({ file.clone(): Map::from_iter(named) }));
        }
        match self.compile_code(&files, &settings, &[(file, contract.name.clone())]).await? {
            Ok(compiled) => Ok(self.judge(&files, &settings, hit.choice, compiled).await?.0),
            Err(refusal) => {
                self.failure.get_or_insert(refusal);
                Ok(None)
            }
        }
    }

    /// Addresses of libraries may have been among the settings: with them the hash may be hit after all.
    pub(super) async fn with_libraries(
        &mut self,
        files: &Files,
        base: &Settings,
        choice: SettingsChoice,
        found: Box<Match>,
    ) -> Result<Box<Match>, VerifyError> {
        let Some(wanted) = self.tail.as_ref().and_then(Auxdata::hash) else { return Ok(found) };
        let name = |library: &String| library.rsplit(':').next().unwrap_or(library).to_owned();
        let libraries: Vec<(String, Address)> =
            found.libraries().map(|(library, address)| (name(library), *address)).collect();
        if libraries.is_empty() || self.request.sources.single_file().is_none() || !self.may_go_on() {
            return Ok(found);
        }
        let mut settings = base.clone();
        choice.apply(&mut settings);
        let others = std::iter::empty();
        let until = self.until.min(Instant::now() + ORACLE_TIME);
        let hit = self.search_metadata(&found.compiled, others, wanted, until, &libraries).await;
        let Some(hit) = hit else { return Ok(found) };
        let better = self.compile_hit(files, &settings, &found.compiled, &hit, &libraries).await?;
        Ok(better.filter(|better| better.is_exact()).unwrap_or(found))
    }
}

fn with_literal_content(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let metadata = settings.entry("metadata").or_insert_with(|| json!({}));
    metadata["useLiteralContent"] = true.into();
    settings
}
