//! The metadata search: the metadata hash is in the code, so candidate settings and file names are hashed without compiling.

use std::time::{Duration, Instant};

use alloy_primitives::Address;
use serde_json::{Map, json};

use super::{Defined, SoliditySearch};
use crate::{
    Auxdata, CompiledContract, MetadataHash,
    error::VerifyError,
    search::{Files, Match, Settings},
    settings::{
        EvmVersion, Fingerprint, Hit, MetadataSearch, MetadataTemplate, Optimizer, SettingsChoice, all_choices,
        all_runs, likely_paths, replace_sources,
    },
    sources::variants,
};

/// Contracts per source whose metadata is searched.
const SEARCHED_CONTRACTS: usize = 6;
/// File names that are tried with every combination of settings; the others with the usual ones.
const FIRST_PATHS: usize = 16;
/// File names that are tried with every number of runs.
const ALL_RUNS_PATHS: usize = 3;
/// Time for one candidate set, over all variants of a source.
const METADATA_SEARCH_TIME: Duration = Duration::from_secs(4);

/// The result of hashing candidates.
struct Searched<T> {
    hit: Option<T>,
    tried: u64,
}

impl<T> Default for Searched<T> {
    fn default() -> Self {
        Self { hit: None, tried: 0 }
    }
}

/// The candidates to try.
#[derive(Debug, Clone)]
enum CandidateSet {
    /// Every combination of common settings.
    Common,
    /// Every number of runs, for these EVM versions.
    AllRuns { versions: Vec<Option<EvmVersion>>, via_ir: bool },
}

impl SoliditySearch<'_> {
    /// Searches settings and file names for each line-ending variant of the source, and compiles the hit.
    pub(super) async fn search_by_metadata(
        &mut self,
        files: &Files,
        base: &Settings,
        defined: Defined,
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let Some(wanted) = self.auxdata.as_ref().and_then(Auxdata::hash) else { return Ok(None) };
        let deadline = self.search_deadline();
        let variants: Vec<(Files, Defined)> = variants(files)
            .into_iter()
            .filter_map(|variant| defined.with_sources(files, &variant).map(|defined| (variant, defined)))
            .collect();
        for (files, defined) in &variants {
            let found = self.search_variant(files, base, defined, wanted, deadline, &CandidateSet::Common).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        // The hash also covers the functions: if they differ, no settings can have it.
        if !defined.possible || self.stopped.is_some() {
            return Ok(None);
        }
        // Rare and slow: the metadata then contains the whole source.
        let settings = with_literal_content(base);
        if let Ok(defined) = self.metadata_of(files, &settings).await? {
            let deadline = self.search_deadline();
            let found =
                self.search_variant(files, &settings, &defined, wanted, deadline, &CandidateSet::Common).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        // All numbers of runs are tried only for the unchanged source.
        let (deadline, all_runs) = (self.search_deadline(), self.all_runs());
        self.search_variant(files, base, &defined, wanted, deadline, &all_runs).await
    }

    /// Each candidate set has its own deadline, so that none is skipped because of another.
    fn search_deadline(&self) -> Instant {
        self.deadline.min(Instant::now() + METADATA_SEARCH_TIME)
    }

    /// Every number of runs, for the EVM versions that fit the fingerprint.
    fn all_runs(&self) -> CandidateSet {
        let fingerprint = Fingerprint::of(self.chain.runtime);
        let compiler = &self.compiler.version;
        let default = EvmVersion::default_of(compiler);
        let versions = match default {
            None => vec![None],
            Some(version) if fingerprint.allows(version) => vec![default],
            Some(_) => EvmVersion::named_by(compiler)
                .into_iter()
                .rev()
                .filter(|version| fingerprint.allows(*version))
                .map(Some)
                .collect(),
        };
        CandidateSet::AllRuns { versions, via_ir: fingerprint.via_ir == Some(true) }
    }

    async fn search_variant(
        &mut self,
        files: &Files,
        settings: &Settings,
        defined: &Defined,
        wanted: MetadataHash,
        deadline: Instant,
        candidates: &CandidateSet,
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let searched = self.search_contracts(defined, wanted, deadline, candidates).await;
        self.hashes += searched.tried;
        tracing::debug!(hit = ?searched.hit, tried = self.hashes, "metadata searched");
        let Some((contract, hit)) = searched.hit else { return Ok(None) };
        self.compile_hit(files, settings, contract, &hit, &[]).await
    }

    /// Searches the metadata of the likely contracts.
    async fn search_contracts<'b>(
        &self,
        defined: &'b Defined,
        wanted: MetadataHash,
        deadline: Instant,
        candidates: &CandidateSet,
    ) -> Searched<(&'b CompiledContract, Hit)> {
        let mut tried = 0;
        let contracts = match candidates {
            CandidateSet::Common => SEARCHED_CONTRACTS,
            CandidateSet::AllRuns { .. } => 1,
        };
        for contract in defined.likely(contracts) {
            let others = defined.contracts.iter().map(|other| other.name.as_str());
            let searched = self.search_metadata(contract, others, wanted, deadline, &[], candidates).await;
            tried += searched.tried;
            if let Some(hit) = searched.hit {
                return Searched { hit: Some((contract, hit)), tried };
            }
        }
        Searched { hit: None, tried }
    }

    async fn search_metadata<'b>(
        &self,
        contract: &'b CompiledContract,
        others: impl Iterator<Item = &'b str>,
        wanted: MetadataHash,
        deadline: Instant,
        libraries: &[(String, Address)],
        candidates: &CandidateSet,
    ) -> Searched<Hit> {
        let single = self.request.sources.single_file().is_some();
        let paths = if single { likely_paths(&contract.name, others) } else { vec![contract.file.clone()] };
        let (metadata, compiler) = (contract.metadata.clone(), self.compiler.version.clone());
        let (libraries, candidates) = (libraries.to_vec(), candidates.clone());
        let work = tokio::task::spawn_blocking(move || {
            let Some(template) = MetadataTemplate::new(&metadata) else { return Searched::default() };
            let first = |most: usize| paths.iter().take(most).cloned().collect::<Vec<_>>();
            let steps: Vec<(Vec<String>, Vec<SettingsChoice>)> = match candidates {
                CandidateSet::Common => {
                    let all = all_choices(&template, &compiler);
                    let default = EvmVersion::default_of(&compiler);
                    let usual = all.iter().filter(|choice| is_usual(choice, default)).copied().collect();
                    vec![(paths.clone(), usual), (first(FIRST_PATHS), all)]
                }
                CandidateSet::AllRuns { versions, via_ir } => {
                    let runs = |version: Option<EvmVersion>| all_runs(version, via_ir);
                    versions.into_iter().map(|version| (first(ALL_RUNS_PATHS), runs(version))).collect()
                }
            };
            let mut search = MetadataSearch::new(&template, wanted);
            let mut tried = 0;
            for (paths, choices) in steps {
                let (hit, more) = search.search(&paths, &choices, &libraries, deadline);
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
            Ok(compiled) => Ok(self.compare_all(&files, &settings, hit.choice, compiled).await?.0),
            Err(refusal) => {
                self.failure.get_or_insert(refusal);
                Ok(None)
            }
        }
    }

    /// Library addresses may have been part of the settings: with them the hash may match exactly.
    pub(super) async fn with_libraries(
        &mut self,
        files: &Files,
        base: &Settings,
        choice: SettingsChoice,
        found: Box<Match>,
    ) -> Result<Box<Match>, VerifyError> {
        let Some(wanted) = self.auxdata.as_ref().and_then(Auxdata::hash) else { return Ok(found) };
        let name = |library: &String| library.rsplit(':').next().unwrap_or(library).to_owned();
        let libraries: Vec<(String, Address)> =
            found.libraries().map(|(library, address)| (name(library), *address)).collect();
        if libraries.is_empty() || self.request.sources.single_file().is_none() || !self.may_continue() {
            return Ok(found);
        }
        let mut settings = base.clone();
        choice.apply(&mut settings);
        let (others, common) = (std::iter::empty(), CandidateSet::Common);
        let deadline = self.search_deadline();
        let searched = self.search_metadata(&found.compiled, others, wanted, deadline, &libraries, &common).await;
        self.hashes += searched.tried;
        let Some(hit) = searched.hit else { return Ok(found) };
        let better = self.compile_hit(files, &settings, &found.compiled, &hit, &libraries).await?;
        Ok(better.filter(|better| better.is_exact()).unwrap_or(found))
    }
}

impl Defined {
    /// The same contracts for sources with other line endings: only the source hashes in the metadata change. None if these
    /// cannot be replaced.
    fn with_sources(&self, files: &Files, variant: &Files) -> Option<Self> {
        let mut contracts = self.contracts.clone();
        if variant != files {
            for contract in contracts.iter_mut().take(self.likely) {
                contract.metadata = replace_sources(&contract.metadata, files, variant)?;
            }
        }
        Some(Self { contracts, metadata: Vec::new(), ..*self })
    }
}

/// Whether all settings except the optimizer and IR have their default.
fn is_usual(choice: &SettingsChoice, default: Option<EvmVersion>) -> bool {
    let is_default = choice.evm_version.is_none_or(|version| Some(version) == default);
    is_default && (choice.optimizer.enabled || choice.optimizer == Optimizer::OFF)
}

fn with_literal_content(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let metadata = settings.entry("metadata").or_insert_with(|| json!({}));
    metadata["useLiteralContent"] = true.into();
    settings
}
