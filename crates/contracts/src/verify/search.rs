//! The search for the contract, the settings and the file names that give the code on the chain.

mod by_compiling;
mod by_metadata;
mod judge;

use std::{collections::BTreeMap, time::Instant};

use alloy_primitives::Address;
use serde_json::{Map, Value};

use super::{
    Refusal, VerifierConfig, VerifyError, VerifyRequest,
    build::{self, Wanted},
    refusal::Tried,
    selectors,
};
use crate::{
    Auxdata, CompileError, CompiledContract, CompilersError, MetadataHash,
    code::{CompilerOutput, OutputError},
    compilers::{Compiler, Session, model_checker},
    matching::{Comparison, Deployed, Difference, MatchKind},
    settings::{EvmVersion, Optimizer, SettingsChoice},
};

/// Contracts of a source whose code is compiled.
const COMPILED: usize = 8;

type Files = BTreeMap<String, String>;
type Settings = Map<String, Value>;

pub(super) struct Search<'a> {
    session: &'a Session,
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

/// The contracts of a source, with their metadata.
struct Defined {
    /// The likeliest first.
    contracts: Vec<CompiledContract>,
    /// So many of them can be meant.
    likely: usize,
}

impl Defined {
    fn likely(&self, most: usize) -> &[CompiledContract] {
        &self.contracts[..self.likely.min(most)]
    }

    fn names(&self, most: usize) -> Vec<(String, String)> {
        self.likely(most).iter().map(|contract| (contract.file.clone(), contract.name.clone())).collect()
    }
}

/// What came of a compilation, where it is not a fault of ours.
type Compiled = Result<Vec<CompiledContract>, Refusal>;

impl<'a> Search<'a> {
    pub(super) fn new(
        session: &'a Session,
        request: &'a VerifyRequest,
        chain: Deployed<'a>,
        config: &VerifierConfig,
    ) -> Self {
        Self {
            session,
            compiler: session.compiler(),
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
        let defined = match self.metadata_of(&files, &base).await? {
            Ok(defined) => defined,
            Err(refusal) => return Ok(Found::Nothing(refusal)),
        };
        let Some(first) = defined.contracts.first() else {
            return Ok(Found::Nothing(Refusal::NoContract { named: self.request.contract_name.clone() }));
        };
        tracing::debug!(contracts = defined.contracts.len(), likely = defined.likely, likeliest = %first.name, "searching for settings");
        let names = defined.names(COMPILED);
        let mut found = None;
        if self.request.sources.settings.is_some() {
            found = self.try_as_given(&files, &base, &names).await?;
        }
        if found.as_ref().is_none_or(|found| !found.is_exact()) {
            found = self.ask_oracle(&files, &base, defined).await?.or(found);
        }
        if found.is_none() {
            found = self.try_by_compiling(&files, &base, &names).await?;
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
        let tried = Tried {
            compilations: self.compilations,
            hashes: self.hashes,
            gave_up: self.gave_up || self.session.is_spent(),
        };
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
        model_checker::switch_off(&mut settings, release);
        settings
    }

    fn may_go_on(&mut self) -> bool {
        let may = self.compilations < self.max_compilations && Instant::now() < self.until && !self.session.is_spent();
        self.gave_up |= !may;
        may
    }

    /// The contracts that may be meant, with their metadata.
    async fn metadata_of(&self, files: &Files, settings: &Settings) -> Result<Result<Defined, Refusal>, VerifyError> {
        let compiled = self.compile(build::input(files, settings, Wanted::Metadata)).await?;
        Ok(compiled.map(|mut contracts| {
            contracts.retain(|contract| self.request.means(&contract.file, &contract.name));
            let likely = selectors::rank(&mut contracts, self.chain.runtime);
            Defined { contracts, likely }
        }))
    }

    async fn compile_code(
        &mut self,
        files: &Files,
        settings: &Settings,
        contracts: &[(String, String)],
    ) -> Result<Compiled, VerifyError> {
        self.compilations += 1;
        let started = Instant::now();
        let compiled = self.compile(build::input(files, settings, Wanted::Code(contracts))).await?;
        tracing::debug!(contracts = contracts.len(), took = ?started.elapsed(), "compiled");
        // Some compilers give more than they are asked for.
        Ok(compiled.map(|mut given| {
            given.retain(|one| contracts.iter().any(|(file, name)| *file == one.file && *name == one.name));
            given
        }))
    }

    async fn compile(&self, input: String) -> Result<Compiled, VerifyError> {
        let output = match self.session.compile(input).await {
            Ok(output) => output,
            Err(
                error @ (CompileError::TimedOut { .. }
                | CompileError::OutOfMemory { .. }
                | CompileError::BudgetSpent { .. }
                | CompileError::Crashed(_)),
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
        names: &[(String, String)],
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let choice = choice_in(settings);
        match self.compile_code(files, settings, names).await? {
            Ok(compiled) => Ok(self.judge(files, settings, choice, compiled).await?.0),
            Err(refusal) => {
                self.failure.get_or_insert(refusal);
                Ok(None)
            }
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
