//! The way by the metadata: its hash stands in the code, so settings and file names are tried on it without compiling.

use std::time::{Duration, Instant};

use alloy_primitives::Address;
use serde_json::{Map, json};

use super::{Defined, Files, Match, Search, Settings};
use crate::{
    Auxdata, CompiledContract, MetadataHash,
    settings::{EvmVersion, Hit, MetadataTemplate, Optimizer, Oracle, SettingsChoice, all_choices, likely_paths},
    verify::{VerifyError, build},
};

/// Contracts of a source whose metadata is tried.
const ASKED: usize = 6;
/// File names that are tried with every combination of settings; the others with usual ones.
const FIRST_PATHS: usize = 16;
/// For trying settings on metadata, over all variants of a source.
const ORACLE_TIME: Duration = Duration::from_secs(4);

/// What came of trying hashes.
struct Searched<T> {
    hit: Option<T>,
    tried: u64,
}

impl<T> Default for Searched<T> {
    fn default() -> Self {
        Self { hit: None, tried: 0 }
    }
}

impl Search<'_> {
    /// Tries settings and file names on the metadata, for each way in which the source may have been changed on its way
    /// here; what hits the hash is compiled.
    pub(super) async fn ask_oracle(
        &mut self,
        files: &Files,
        base: &Settings,
        defined: Defined,
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let Some(wanted) = self.tail.as_ref().and_then(Auxdata::hash) else { return Ok(None) };
        let until = self.until.min(Instant::now() + ORACLE_TIME);
        let variants = build::variants(files);
        let mut ways: Vec<(&Files, Settings)> = variants.iter().map(|files| (files, base.clone())).collect();
        // Rare, and slow to try: all of the source stands behind the settings then.
        ways.push((files, with_literal_content(base)));
        let mut first = Some(defined);
        for (files, settings) in ways {
            let defined = match first.take() {
                Some(defined) => defined,
                None => match self.metadata_of(files, &settings).await? {
                    Ok(defined) => defined,
                    Err(_) => continue,
                },
            };
            let searched = self.search_all(&defined, wanted, until).await;
            self.hashes += searched.tried;
            if let Some((place, hit)) = searched.hit
                && let Some(contract) = defined.contracts.get(place)
            {
                tracing::debug!(?hit, tried = self.hashes, "the hash of the metadata is hit");
                if let Some(found) = self.compile_hit(files, &settings, contract, &hit, &[]).await? {
                    return Ok(Some(found));
                }
            }
            tracing::debug!(tried = self.hashes, "the hash of the metadata is not hit");
            if Instant::now() >= until {
                break;
            }
        }
        Ok(None)
    }

    /// Tries the hashes of all contracts that can be meant.
    async fn search_all(&self, defined: &Defined, wanted: MetadataHash, until: Instant) -> Searched<(usize, Hit)> {
        let mut tried = 0;
        for (place, contract) in defined.likely(ASKED).iter().enumerate() {
            let others = defined.contracts.iter().map(|other| other.name.as_str());
            let searched = self.search_metadata(contract, others, wanted, until, &[]).await;
            tried += searched.tried;
            if let Some(hit) = searched.hit {
                return Searched { hit: Some((place, hit)), tried };
            }
        }
        Searched { hit: None, tried }
    }

    async fn search_metadata<'b>(
        &self,
        contract: &'b CompiledContract,
        others: impl Iterator<Item = &'b str>,
        wanted: MetadataHash,
        until: Instant,
        libraries: &[(String, Address)],
    ) -> Searched<Hit> {
        let single = self.request.sources.single_file().is_some();
        let paths = if single { likely_paths(&contract.name, others) } else { vec![contract.file.clone()] };
        let (metadata, compiler) = (contract.metadata.clone(), self.compiler.version.clone());
        let libraries = libraries.to_vec();
        let work = tokio::task::spawn_blocking(move || {
            let Some(template) = MetadataTemplate::new(&metadata) else { return Searched::default() };
            let oracle = Oracle::new(&template, wanted);
            let all = all_choices(&template, &compiler);
            let default = EvmVersion::default_of(&compiler);
            let is_usual = |choice: &&SettingsChoice| {
                let by_itself = choice.evm_version.is_none_or(|own| Some(own) == default);
                by_itself && (choice.optimizer.enabled || choice.optimizer == Optimizer::OFF)
            };
            let usual: Vec<SettingsChoice> = all.iter().filter(is_usual).copied().collect();
            let mut tried = 0;
            for (paths, choices) in [(&paths[..], &usual), (&paths[..paths.len().min(FIRST_PATHS)], &all)] {
                let (hit, more) = oracle.search(paths, choices, &libraries, until);
                tried += more;
                if hit.is_some() {
                    return Searched { hit, tried };
                }
            }
            Searched { hit: None, tried }
        });
        work.await.unwrap_or_default()
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
        let searched = self.search_metadata(&found.compiled, others, wanted, until, &libraries).await;
        self.hashes += searched.tried;
        let Some(hit) = searched.hit else { return Ok(found) };
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
