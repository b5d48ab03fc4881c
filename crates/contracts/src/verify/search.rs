//! The search for the contract, the settings and the file names that give the code on the chain.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use alloy_primitives::Address;
use serde_json::{Map, Value, json};

use super::{
    Refusal, VerifierConfig, VerifyError, VerifyRequest,
    build::{self, Wanted},
    refusal::Tried,
    selectors,
};
use crate::{
    Auxdata, CompileError, CompiledContract, Compilers, CompilersError, MetadataHash,
    code::{CompilerOutput, OutputError},
    compilers::Compiler,
    matching::{Comparison, Deployed, Difference, MatchKind, compare},
    settings::{
        Candidates, EvmVersion, Fingerprint, Hit, MetadataTemplate, Optimizer, Oracle, SettingsChoice, Trial,
        all_choices, likely_paths,
    },
};

/// Contracts of a source whose metadata is tried, and whose code is compiled.
const ASKED: usize = 6;
const COMPILED: usize = 8;
/// File names that are tried with every combination of settings; the others with usual ones.
const FIRST_PATHS: usize = 24;
/// For trying settings on metadata, over all variants of a source.
const ORACLE_TIME: Duration = Duration::from_secs(10);

type Files = BTreeMap<String, String>;
type Settings = Map<String, Value>;

pub(super) struct Search<'a> {
    compilers: &'a Compilers,
    compiler: &'a Compiler,
    request: &'a VerifyRequest,
    chain: Deployed<'a>,
    /// What the code on the chain tells of itself.
    tail: Option<Auxdata>,
    until: Instant,
    max_compilations: u32,
    compilations: u32,
    hashes: u64,
    gave_up: bool,
    closest: Option<Closest>,
    /// What the compiler said of code that it could not generate.
    failure: Option<Refusal>,
}

/// Sources and settings that give the code.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) comparison: Comparison,
    pub(super) compiled: CompiledContract,
    pub(super) files: Files,
}

#[derive(Debug)]
pub(super) enum Found {
    Match(Box<Match>),
    Nothing(Refusal),
}

/// The least that was lacking so far.
struct Closest {
    contract: String,
    choice: SettingsChoice,
    difference: Difference,
}

/// What came of a compilation, where it is not a fault of ours.
type Compiled = Result<Vec<CompiledContract>, Refusal>;

impl<'a> Search<'a> {
    pub(super) fn new(
        compilers: &'a Compilers,
        compiler: &'a Compiler,
        request: &'a VerifyRequest,
        chain: Deployed<'a>,
        config: &VerifierConfig,
    ) -> Self {
        Self {
            compilers,
            compiler,
            request,
            chain,
            tail: Auxdata::at_end_of(chain.runtime),
            until: Instant::now() + config.search_time,
            max_compilations: config.search_compilations,
            compilations: 0,
            hashes: 0,
            gave_up: false,
            closest: None,
            failure: None,
        }
    }

    pub(super) async fn run(mut self) -> Result<Found, VerifyError> {
        let files = self.request.sources.files.clone();
        let base = self.base_settings();
        let contracts = match self.metadata_of(&files, &base).await? {
            Ok(contracts) => contracts,
            Err(refusal) => return Ok(Found::Nothing(refusal)),
        };
        let Some(first) = contracts.first() else {
            return Ok(Found::Nothing(Refusal::NoContract { named: self.request.contract_name.clone() }));
        };
        tracing::debug!(contracts = contracts.len(), likeliest = %first.name, "searching for settings");
        let mut found = None;
        if self.request.sources.settings.is_some() {
            found = self.try_as_given(&files, &base, &contracts).await?;
        }
        if found.as_ref().is_none_or(|found| !found.is_exact()) {
            found = self.ask_oracle(&files, &base, &contracts).await?.or(found);
        }
        if found.is_none() {
            found = self.try_by_compiling(&files, &base, &contracts).await?;
        }
        Ok(match found {
            Some(found) => self.check_claims(found),
            None => Found::Nothing(self.refuse()),
        })
    }

    /// What was claimed beside the sources must be true as well.
    fn check_claims(&self, found: Box<Match>) -> Found {
        if let (Some(claimed), Some(Ok((_, arguments)))) =
            (&self.request.constructor_arguments, &found.comparison.creation)
            && claimed != arguments
        {
            return Found::Nothing(Refusal::ConstructorArguments);
        }
        for (library, on_chain) in found.libraries() {
            let name = library.rsplit(':').next().unwrap_or(library);
            let claimed = self.request.libraries.get(library).or_else(|| self.request.libraries.get(name));
            if let Some(claimed) = claimed.filter(|claimed| *claimed != on_chain) {
                let (library, claimed, on_chain) = (library.clone(), *claimed, *on_chain);
                return Found::Nothing(Refusal::Library { library, claimed, on_chain });
            }
        }
        Found::Match(found)
    }

    fn refuse(self) -> Refusal {
        let tried = Tried { compilations: self.compilations, hashes: self.hashes, gave_up: self.gave_up };
        match (self.closest, self.failure) {
            (Some(Closest { contract, choice, difference }), _) => {
                Refusal::Closest { contract, choice, difference, tried }
            }
            (None, Some(failure)) => failure,
            (None, None) => Refusal::NothingCompared(tried),
        }
    }

    /// Settings that the code on the chain tells by itself, over those that came with the sources.
    fn base_settings(&self) -> Settings {
        let mut settings = self.request.sources.settings.clone().unwrap_or_default();
        let release = self.compiler.version.release();
        let hash = self.tail.as_ref().map(|tail| tail.hash());
        let mut metadata = match settings.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        if release >= (0, 6, 0) {
            match hash {
                Some(Some(MetadataHash::Bzzr1(_))) => metadata.insert("bytecodeHash".to_owned(), "bzzr1".into()),
                Some(None) => metadata.insert("bytecodeHash".to_owned(), "none".into()),
                Some(Some(_)) => metadata.remove("bytecodeHash"),
                None => None,
            };
        }
        if release >= (0, 8, 18) && hash.is_none() {
            metadata.insert("appendCBOR".to_owned(), false.into());
        } else {
            metadata.remove("appendCBOR");
        }
        if !metadata.is_empty() {
            settings.insert("metadata".to_owned(), metadata.into());
        }
        settings
    }

    fn may_go_on(&mut self) -> bool {
        let may = self.compilations < self.max_compilations && Instant::now() < self.until;
        self.gave_up |= !may;
        may
    }

    /// The contracts that may be meant, with their metadata, the likeliest first.
    async fn metadata_of(&mut self, files: &Files, settings: &Settings) -> Result<Compiled, VerifyError> {
        let compiled = self.compile(build::input(files, settings, Wanted::Metadata)).await?;
        Ok(compiled.map(|mut contracts| {
            contracts.retain(|contract| self.request.means(&contract.file, &contract.name));
            selectors::rank(&mut contracts, self.chain.runtime);
            contracts
        }))
    }

    async fn compile_code(
        &mut self,
        files: &Files,
        settings: &Settings,
        contracts: &[(String, String)],
    ) -> Result<Compiled, VerifyError> {
        self.compilations += 1;
        let compiled = self.compile(build::input(files, settings, Wanted::Code(contracts))).await?;
        // Some compilers give more than they are asked for.
        Ok(compiled.map(|mut given| {
            given.retain(|one| contracts.iter().any(|(file, name)| *file == one.file && *name == one.name));
            given
        }))
    }

    async fn compile(&self, input: String) -> Result<Compiled, VerifyError> {
        let output = match self.compilers.compile(self.compiler, input).await {
            Ok(output) => output,
            Err(
                error @ (CompileError::TimedOut { .. } | CompileError::OutOfMemory { .. } | CompileError::Crashed(_)),
            ) => {
                tracing::info!(%error, address = %self.request.address, "a compilation was stopped");
                return Ok(Err(Refusal::Compiler(error.to_string())));
            }
            Err(error) => return Err(CompilersError::Run(error).into()),
        };
        let read = tokio::task::spawn_blocking(move || CompilerOutput::read(&output)).await;
        Ok(match read {
            Ok(Ok(output)) => Ok(output.contracts),
            Ok(Err(OutputError::Source(said))) => Err(Refusal::Source(said)),
            Ok(Err(error)) => Err(Refusal::Compiler(error.to_string())),
            Err(error) => Err(Refusal::Compiler(error.to_string())),
        })
    }

    /// Standard JSON input brings its settings along.
    async fn try_as_given(
        &mut self,
        files: &Files,
        settings: &Settings,
        contracts: &[CompiledContract],
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let choice = choice_in(settings);
        match self.compile_code(files, settings, &names(contracts, COMPILED)).await? {
            Ok(compiled) => Ok(self.judge(files, settings, choice, compiled).await?.0),
            Err(refusal) => {
                self.failure.get_or_insert(refusal);
                Ok(None)
            }
        }
    }

    /// Tries settings and file names on the metadata, for each way in which the source may have been changed on its way
    /// here; what hits the hash is compiled.
    async fn ask_oracle(
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

    /// Tries settings by compiling, in the order that the looks of the code suggest.
    async fn try_by_compiling(
        &mut self,
        files: &Files,
        base: &Settings,
        contracts: &[CompiledContract],
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let looks = Fingerprint::of(self.chain.runtime);
        let mut candidates = Candidates::new(&self.compiler.version, &looks, self.request.given());
        let names = names(contracts, COMPILED);
        let mut last = None;
        while let Some(choice) = candidates.next(last) {
            if !self.may_go_on() || self.is_all_but_there(choice) {
                break;
            }
            let mut settings = base.clone();
            choice.apply(&mut settings);
            let compiled = match self.compile_code(files, &settings, &names).await? {
                Ok(compiled) => compiled,
                Err(refusal) => {
                    let stopped = matches!(refusal, Refusal::Compiler(_));
                    self.failure.get_or_insert(refusal);
                    if stopped {
                        break;
                    }
                    last = Some(Trial::Failed);
                    continue;
                }
            };
            let (found, trial) = self.judge(files, &settings, choice, compiled).await?;
            if let Some(found) = found {
                return self.with_libraries(files, base, choice, found).await.map(Some);
            }
            last = Some(trial);
        }
        Ok(None)
    }

    /// Whether a few bytes are all that differs under other rules than those of the next choice: then the settings are
    /// found, and it is the source that is another.
    fn is_all_but_there(&self, next: SettingsChoice) -> bool {
        self.closest.as_ref().is_some_and(|closest| {
            let same_rules = (closest.choice.evm_version, closest.choice.via_ir) == (next.evm_version, next.via_ir);
            let few = matches!(closest.difference, Difference::Code { differing, on_chain_length, .. }
                if differing * 100 <= on_chain_length);
            few && !same_rules
        })
    }

    /// Addresses of libraries may have been among the settings: with them the hash may be hit after all.
    async fn with_libraries(
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

    /// Compares what was compiled with the chain; gives the best match, else how the closest one differs.
    async fn judge(
        &mut self,
        files: &Files,
        settings: &Settings,
        choice: SettingsChoice,
        compiled: Vec<CompiledContract>,
    ) -> Result<(Option<Box<Match>>, Trial), VerifyError> {
        let mut best: Option<Box<Match>> = None;
        let mut nearest: Option<(u64, Trial)> = None;
        for contract in compiled {
            let mut comparison = compare(&contract, None, self.chain);
            if comparison.wants_altered()
                && let Some(altered) = self.compile_altered(files, settings, &contract).await?
            {
                comparison = compare(&contract, Some(&altered), self.chain);
            }
            match (comparison.overall(), &comparison.runtime) {
                (Some(kind), _) => {
                    if best.as_ref().is_none_or(|best| best.comparison.overall() < Some(kind)) {
                        best = Some(Box::new(Match { comparison, compiled: contract, files: files.clone() }));
                    }
                }
                (None, Err(difference)) => {
                    let distance = difference.distance();
                    if nearest.as_ref().is_none_or(|(least, _)| distance < *least) && distance != u64::MAX {
                        nearest = Some((distance, trial(&contract, self.chain)));
                    }
                    self.note(&contract, choice, difference.clone());
                }
                (None, Ok(_)) => {}
            }
        }
        Ok((best, nearest.map_or(Trial::Near, |(_, trial)| trial)))
    }

    async fn compile_altered(
        &mut self,
        files: &Files,
        settings: &Settings,
        contract: &CompiledContract,
    ) -> Result<Option<CompiledContract>, VerifyError> {
        let wanted = [(contract.file.clone(), contract.name.clone())];
        let compiled = self.compile_code(&build::altered(files), settings, &wanted).await?;
        Ok(compiled.ok().and_then(|compiled| compiled.into_iter().next()))
    }

    fn note(&mut self, contract: &CompiledContract, choice: SettingsChoice, difference: Difference) {
        let closer = self.closest.as_ref().is_none_or(|closest| difference.distance() < closest.difference.distance());
        if closer && difference != Difference::NoCode {
            self.closest = Some(Closest { contract: contract.name.clone(), choice, difference });
        }
    }
}

impl Match {
    fn is_exact(&self) -> bool {
        self.comparison.overall() == Some(MatchKind::Exact)
    }

    pub(super) fn libraries(&self) -> impl Iterator<Item = (&String, &Address)> {
        let runtime = self.comparison.runtime.iter().flat_map(|found| &found.libraries);
        let creation = self.comparison.creation.iter().flatten().flat_map(|(found, _)| &found.libraries);
        let mut seen = std::collections::BTreeSet::new();
        runtime.chain(creation).filter(move |(library, _)| seen.insert((*library).clone()))
    }
}

fn names(contracts: &[CompiledContract], most: usize) -> Vec<(String, String)> {
    contracts.iter().take(most).map(|contract| (contract.file.clone(), contract.name.clone())).collect()
}

fn trial(contract: &CompiledContract, chain: Deployed<'_>) -> Trial {
    /// Lengths that differ by no more than one in so many bytes are near.
    const NEAR: usize = 40;
    let (compiled, on_chain) = (contract.runtime.bytes.len(), chain.runtime.len());
    match compiled.cmp(&on_chain) {
        _ if compiled.abs_diff(on_chain) * NEAR <= on_chain => Trial::Near,
        std::cmp::Ordering::Less => Trial::Shorter,
        _ => Trial::Longer,
    }
}

/// What settings say of that which is searched for.
fn choice_in(settings: &Settings) -> SettingsChoice {
    let optimizer = settings.get("optimizer");
    let runs = optimizer.and_then(|optimizer| optimizer.get("runs")?.as_u64()).unwrap_or(200);
    SettingsChoice {
        optimizer: Optimizer {
            enabled: optimizer.and_then(|optimizer| optimizer.get("enabled")?.as_bool()).unwrap_or(false),
            runs: u32::try_from(runs).unwrap_or(u32::MAX),
        },
        evm_version: settings.get("evmVersion").and_then(|name| EvmVersion::from_name(name.as_str()?)),
        via_ir: settings.get("viaIR").and_then(Value::as_bool).unwrap_or(false),
    }
}

fn with_literal_content(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let metadata = settings.entry("metadata").or_insert_with(|| json!({}));
    metadata["useLiteralContent"] = true.into();
    settings
}
