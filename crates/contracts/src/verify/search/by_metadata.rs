//! The search by metadata: its hash is in the code, so candidate settings and file names are tried on its text without
//! compiling.

use std::time::{Duration, Instant};

use alloy_primitives::Address;
use serde_json::{Map, json};

use super::{Defined, Files, Match, Search, Settings};
use crate::{
    Auxdata, CompiledContract, MetadataHash,
    settings::{
        EvmVersion, Fingerprint, Hit, MetadataSearch, MetadataTemplate, Optimizer, SettingsChoice, all_choices,
        all_runs, likely_paths, replace_sources,
    },
    verify::{VerifyError, build},
};

/// Contracts of a source whose metadata is tried.
const SEARCHED_CONTRACTS: usize = 6;
/// File names that are tried with every combination of settings; the others with usual ones.
const FIRST_PATHS: usize = 16;
/// File names that are tried with every number of runs.
const ALL_RUNS_PATHS: usize = 3;
/// For hashing one kind of candidates, over all variants of a source.
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

/// Which candidates are tried.
#[derive(Debug, Clone)]
enum CandidateSet {
    /// Every combination of what people use.
    Common,
    /// Every number of runs, for these EVM versions.
    AllRuns { versions: Vec<Option<EvmVersion>>, via_ir: bool },
}

impl Search<'_> {
    /// Tries settings and file names on the metadata, for each way in which the source may have been changed on its way
    /// here; what has the hash is compiled.
    pub(super) async fn search_by_metadata(
        &mut self,
        files: &Files,
        base: &Settings,
        defined: Defined,
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let Some(wanted) = self.tail.as_ref().and_then(Auxdata::hash) else { return Ok(None) };
        let until = self.search_deadline();
        let variants: Vec<(Files, Defined)> = build::variants(files)
            .into_iter()
            .filter_map(|variant| defined.with_sources(files, &variant).map(|defined| (variant, defined)))
            .collect();
        for (files, defined) in &variants {
            let found = self.search_variant(files, base, defined, wanted, until, &CandidateSet::Common).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        // The hash covers the functions as well: where they are others, no settings have it.
        if !defined.possible || self.stopped.is_some() {
            return Ok(None);
        }
        // Rare, and slow to try: all of the source is behind the settings then.
        let settings = with_literal_content(base);
        if let Ok(defined) = self.metadata_of(files, &settings).await? {
            let until = self.search_deadline();
            let found = self.search_variant(files, &settings, &defined, wanted, until, &CandidateSet::Common).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        // So many numbers of runs are only tried on the source as it was sent.
        let (until, all_runs) = (self.search_deadline(), self.all_runs());
        self.search_variant(files, base, &defined, wanted, until, &all_runs).await
    }

    /// Each kind of candidates has its own time, so that none is left out because of another.
    fn search_deadline(&self) -> Instant {
        self.until.min(Instant::now() + METADATA_SEARCH_TIME)
    }

    /// Every number of runs, under the rules of the chain that the code on the chain shows.
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
        until: Instant,
        candidates: &CandidateSet,
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let searched = self.search_contracts(defined, wanted, until, candidates).await;
        self.hashes += searched.tried;
        tracing::debug!(hit = ?searched.hit, tried = self.hashes, "metadata searched");
        let Some((contract, hit)) = searched.hit else { return Ok(None) };
        self.compile_hit(files, settings, contract, &hit, &[]).await
    }

    /// Tries the metadata of all contracts that can be meant.
    async fn search_contracts<'b>(
        &self,
        defined: &'b Defined,
        wanted: MetadataHash,
        until: Instant,
        candidates: &CandidateSet,
    ) -> Searched<(&'b CompiledContract, Hit)> {
        let mut tried = 0;
        let contracts = match candidates {
            CandidateSet::Common => SEARCHED_CONTRACTS,
            CandidateSet::AllRuns { .. } => 1,
        };
        for contract in defined.likely(contracts) {
            let others = defined.contracts.iter().map(|other| other.name.as_str());
            let searched = self.search_metadata(contract, others, wanted, until, &[], candidates).await;
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
        until: Instant,
        libraries: &[(String, Address)],
        candidates: &CandidateSet,
    ) -> Searched<Hit> {
        let single = self.request.sources.single_file().is_some();
        let paths = if single { likely_paths(&contract.name, others) } else { vec![contract.file.clone()] };
        let (metadata, compiler) = (contract.metadata.clone(), self.compiler.version.clone());
        let (libraries, candidates) = (libraries.to_vec(), candidates.clone());
        let work = tokio::task::spawn_blocking(move || {
            let Some(template) = MetadataTemplate::new(&metadata) else { return Searched::default() };
            let first = |most: usize| paths[..paths.len().min(most)].to_vec();
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
                let (hit, more) = search.search(&paths, &choices, &libraries, until);
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

    /// Addresses of libraries may have been among the settings: with them the hash may be found after all.
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
        let (others, common) = (std::iter::empty(), CandidateSet::Common);
        let until = self.search_deadline();
        let searched = self.search_metadata(&found.compiled, others, wanted, until, &libraries, &common).await;
        self.hashes += searched.tried;
        let Some(hit) = searched.hit else { return Ok(found) };
        let better = self.compile_hit(files, &settings, &found.compiled, &hit, &libraries).await?;
        Ok(better.filter(|better| better.is_exact()).unwrap_or(found))
    }
}

impl Defined {
    /// The same contracts of sources that differ in their line ends: only the hashes of the sources change. None where
    /// these are not known.
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

/// Whether nothing is set but the optimizer and IR.
fn is_usual(choice: &SettingsChoice, default: Option<EvmVersion>) -> bool {
    let by_itself = choice.evm_version.is_none_or(|version| Some(version) == default);
    by_itself && (choice.optimizer.enabled || choice.optimizer == Optimizer::OFF)
}

fn with_literal_content(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let metadata = settings.entry("metadata").or_insert_with(|| json!({}));
    metadata["useLiteralContent"] = true.into();
    settings
}
