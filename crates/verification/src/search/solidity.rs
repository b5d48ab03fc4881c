//! Solidity: settings are searched in the metadata, then by compiling.

mod by_compiling;
mod by_metadata;
mod comparing;
mod fixed_settings;
mod input;

use std::time::{Duration, Instant};

use self::input::Outputs;
use super::{
    compile::{Compiled, compile},
    found::{Files, Match, SearchResult, Settings, check_claims},
    refusal::{Refusal, SearchExtent, StopReason},
    selectors::{self, FunctionDifference, Ranking},
};
use crate::{
    Auxdata, CompiledContract,
    code::OutputArtifacts,
    compilers::{Compiler, Session, model_checker},
    config::VerifierConfig,
    error::VerifyError,
    matching::{DeployedCode, Difference},
    request::VerifyRequest,
    settings::SettingsChoice,
};

/// Contracts per source whose code is compiled.
const MAX_COMPILED: usize = 8;

pub(crate) struct SoliditySearch<'a> {
    session: &'a Session,
    compiler: &'a Compiler,
    request: &'a VerifyRequest,
    chain: DeployedCode<'a>,
    /// The auxdata at the end of the code on the chain.
    auxdata: Option<Auxdata>,
    deadline: Instant,
    max_time: Duration,
    max_compilations: u32,
    compilations: u32,
    hashes: u64,
    stopped: Option<StopReason>,
    closest: Option<Closest>,
    /// The first compiler error.
    failure: Option<Refusal>,
    /// Set if the creation code of a contract matches but its runtime code does not.
    creation_only: Option<Refusal>,
    /// Whether the compiler fails unless the code of all contracts is requested.
    needs_all_code: bool,
    /// The metadata of every contract of the unchanged sources.
    metadata: Vec<String>,
}

/// The compiled contract that differs least from the code on the chain so far.
struct Closest {
    contract: String,
    choice: SettingsChoice,
    difference: Difference,
    functions: Option<FunctionDifference>,
}

/// The contracts defined by a source, with their metadata.
struct Defined {
    /// Most likely first.
    contracts: Vec<CompiledContract>,
    /// How many of them may be the one on the chain.
    likely: usize,
    /// Whether the functions of any of them match the code on the chain.
    possible: bool,
    /// Of every contract, also of unlikely ones.
    metadata: Vec<String>,
}

impl Defined {
    fn likely(&self, most: usize) -> &[CompiledContract] {
        self.contracts.get(..self.likely.min(most)).unwrap_or(&self.contracts)
    }

    fn names(&self, most: usize) -> Vec<(String, String)> {
        self.likely(most).iter().map(|contract| (contract.file.clone(), contract.name.clone())).collect()
    }
}

impl<'a> SoliditySearch<'a> {
    pub(crate) fn new(
        session: &'a Session,
        request: &'a VerifyRequest,
        chain: DeployedCode<'a>,
        config: &VerifierConfig,
    ) -> Self {
        Self {
            session,
            compiler: session.compiler(),
            request,
            chain,
            auxdata: Auxdata::at_end_of(chain.runtime),
            deadline: Instant::now() + config.search_time,
            max_time: config.search_time,
            max_compilations: config.search_compilations,
            compilations: 0,
            hashes: 0,
            stopped: None,
            closest: None,
            failure: None,
            creation_only: None,
            needs_all_code: false,
            metadata: Vec::new(),
        }
    }

    pub(crate) async fn run(mut self) -> Result<SearchResult, VerifyError> {
        let files = self.request.sources.files.clone();
        let base = self.base_settings();
        let defined = match self.metadata_of(&files, &base).await? {
            Ok(defined) => defined,
            Err(refusal) => return Ok(SearchResult::NoMatch(refusal)),
        };
        self.metadata.clone_from(&defined.metadata);
        let Some(first) = defined.contracts.first() else {
            return Ok(SearchResult::NoMatch(Refusal::NoContract { named: self.request.contract_name.clone() }));
        };
        tracing::debug!(contracts = defined.contracts.len(), likely = defined.likely, likeliest = %first.name, "searching for settings");
        let names = defined.names(MAX_COMPILED);
        let mut found = None;
        if self.request.sources.settings.is_some() {
            found = self.try_requested_settings(&files, &base, &names).await?;
        }
        if found.as_ref().is_none_or(|found| !found.is_exact()) {
            found = self.search_by_metadata(&files, &base, defined).await?.or(found);
        }
        // With other settings the creation code would not match.
        if found.is_none() && self.creation_only.is_none() {
            found = self.try_by_compiling(&files, &base, &names).await?;
        }
        Ok(match found {
            Some(found) => check_claims(self.request, found),
            None => SearchResult::NoMatch(self.refuse()),
        })
    }

    fn refuse(self) -> Refusal {
        if let Some(refusal) = self.creation_only {
            return refusal;
        }
        let exhausted = self.session.is_exhausted().then_some(StopReason::CpuTime);
        let tried =
            SearchExtent { compilations: self.compilations, hashes: self.hashes, stopped: self.stopped.or(exhausted) };
        match (self.closest, self.failure) {
            (Some(Closest { contract, choice, difference, functions }), _) => {
                Refusal::Closest { contract, choice, difference, functions, tried }
            }
            (None, Some(failure)) => failure,
            (None, None) => Refusal::NothingCompared(tried),
        }
    }

    /// The settings of the request, with the metadata options that the code on the chain shows.
    fn base_settings(&self) -> Settings {
        let settings = self.request.sources.settings.clone().unwrap_or_default();
        let release = self.compiler.version.release();
        let mut settings = fixed_settings::base_settings(settings, release, self.auxdata.as_ref());
        model_checker::disable(&mut settings, release);
        settings
    }

    fn may_continue(&mut self) -> bool {
        if self.compilations >= self.max_compilations {
            self.stopped = Some(StopReason::Compilations(self.max_compilations));
        } else if Instant::now() >= self.deadline {
            self.stopped = Some(StopReason::Time(self.max_time));
        } else if self.session.is_exhausted() {
            self.stopped = Some(StopReason::CpuTime);
        }
        self.stopped.is_none()
    }

    /// Compiles the metadata of the contracts and ranks them.
    async fn metadata_of(&self, files: &Files, settings: &Settings) -> Result<Result<Defined, Refusal>, VerifyError> {
        let compiled = self.compile(input::build(files, settings, Outputs::Metadata)).await?;
        Ok(compiled.map(|mut contracts| {
            let metadata = contracts.iter().map(|contract| contract.metadata.clone()).collect();
            contracts.retain(|contract| self.request.matches_name(&contract.file, &contract.name));
            let Ranking { likely, possible } = selectors::rank(&mut contracts, self.chain.runtime);
            let target = self.request.sources.target.as_ref().and_then(|(file, name)| {
                contracts.iter().position(|contract| contract.file == *file && contract.name == *name)
            });
            if let Some(target) = target {
                selectors::move_to_front(&mut contracts, target);
            }
            Defined { contracts, likely, possible, metadata }
        }))
    }

    async fn compile_code(
        &mut self,
        files: &Files,
        settings: &Settings,
        contracts: &[(String, String)],
    ) -> Result<Compiled, VerifyError> {
        let outputs = if self.needs_all_code { Outputs::AllCode } else { Outputs::Code(contracts) };
        let mut compiled = self.compile_outputs(files, settings, outputs).await?;
        if matches!(compiled, Err(Refusal::Internal(_))) && !self.needs_all_code {
            // Up to 0.8.3, a contract that is created by an internal library function must be among the requested outputs:
            // "Compiled contract not found".
            let all = self.compile_outputs(files, settings, Outputs::AllCode).await?;
            if all.is_ok() {
                self.needs_all_code = true;
                compiled = all;
            }
        }
        // Some compilers output more than was requested.
        Ok(compiled.map(|mut given| {
            given.retain(|one| contracts.iter().any(|(file, name)| *file == one.file && *name == one.name));
            given
        }))
    }

    async fn compile_outputs(
        &mut self,
        files: &Files,
        settings: &Settings,
        outputs: Outputs<'_>,
    ) -> Result<Compiled, VerifyError> {
        self.compilations += 1;
        let started = Instant::now();
        let compiled = self.compile(input::build(files, settings, outputs)).await?;
        tracing::debug!(took = ?started.elapsed(), "compiled");
        Ok(compiled)
    }

    async fn compile(&self, input: String) -> Result<Compiled, VerifyError> {
        compile(self.session, self.request, input).await
    }

    /// Tries the settings of standard JSON input.
    async fn try_requested_settings(
        &mut self,
        files: &Files,
        settings: &Settings,
        names: &[(String, String)],
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let choice = fixed_settings::choice_in(settings);
        match self.compile_code(files, settings, names).await? {
            Ok(compiled) => Ok(self.compare_all(files, settings, choice, compiled).await?.0),
            Err(refusal) => {
                self.failure.get_or_insert(refusal);
                Ok(None)
            }
        }
    }
}

/// The other outputs for the matching contract. The match is valid without them.
pub(crate) async fn compile_artifacts(session: &Session, found: &Match) -> OutputArtifacts {
    if let Some(artifacts) = &found.compiled.artifacts {
        return artifacts.clone();
    }
    let (file, name) = (&found.compiled.file, &found.compiled.name);
    let input = input::build(&found.files, &found.settings, Outputs::Artifacts { file, name });
    match session.compile(input).await {
        Ok(output) => OutputArtifacts::read(&output, file, name),
        Err(error) => {
            tracing::info!(%error, "cannot compile the documentation of a verified contract");
            OutputArtifacts::default()
        }
    }
}
