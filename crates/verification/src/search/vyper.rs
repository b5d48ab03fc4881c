//! Vyper contracts: the settings are those of the request, or a few common ones; every file may be the contract.

mod imports;
mod input;
mod settings;

use std::{collections::BTreeSet, time::Instant};

use self::input::Outputs;
use super::{
    compile::compile,
    found::{Files, Match, SearchResult, Settings, check_claims},
    refusal::{Refusal, StopReason},
};
use crate::{
    CompiledContract,
    compilers::Session,
    config::VerifierConfig,
    error::VerifyError,
    matching::{DeployedCode, Difference, MatchKind, compare},
    request::VerifyRequest,
    sources::{contract_name, is_contract},
};

/// Contracts per source that are compiled.
const MAX_COMPILED: usize = 8;
/// Files that are left out in turn, to see whether the contract uses them.
const MAX_REMOVED: usize = 8;
/// The file of a source without a name.
const UNNAMED: &str = "contract";

pub(crate) struct VyperSearch<'a> {
    session: &'a Session,
    request: &'a VerifyRequest,
    chain: DeployedCode<'a>,
    deadline: Instant,
    config: &'a VerifierConfig,
    compilations: u32,
    stopped: Option<StopReason>,
    closest: Option<Closest>,
    /// The first compiler error.
    failure: Option<Refusal>,
    /// Set if the creation code of a contract matches but its runtime code does not.
    creation_only: Option<Refusal>,
}

/// The compiled contract that differs least from the code on the chain so far.
struct Closest {
    contract: String,
    settings: String,
    difference: Difference,
}

impl<'a> VyperSearch<'a> {
    pub(crate) fn new(
        session: &'a Session,
        request: &'a VerifyRequest,
        chain: DeployedCode<'a>,
        config: &'a VerifierConfig,
    ) -> Self {
        Self {
            session,
            request,
            chain,
            deadline: Instant::now() + config.search_time,
            config,
            compilations: 0,
            stopped: None,
            closest: None,
            failure: None,
            creation_only: None,
        }
    }

    pub(crate) async fn run(mut self) -> Result<SearchResult, VerifyError> {
        let files = self.files();
        let mut targets = self.targets(&files);
        if targets.is_empty() {
            return Ok(SearchResult::NoMatch(Refusal::NoContract { named: self.request.contract_name.clone() }));
        }
        let release = self.session.version().release();
        let given = self.request.sources.settings.as_ref();
        for settings in settings::candidates(given, self.request.evm_version, release, self.chain.runtime) {
            let mut nearest: Option<(u64, String)> = None;
            for file in &targets {
                if !self.may_continue() {
                    return Ok(SearchResult::NoMatch(self.refuse()));
                }
                let Some(contract) = self.compile(&files, &settings, file).await? else { continue };
                let (found, distance) = self.compare(&files, &settings, contract);
                if let Some(found) = found {
                    let found = self.without_unused(found).await?;
                    return Ok(check_claims(self.request, found));
                }
                if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
                    nearest = Some((distance, file.clone()));
                }
            }
            let Some((distance, file)) = nearest else {
                // If it has never compiled, other settings do not help.
                if self.closest.is_none() {
                    break;
                }
                continue;
            };
            // With other settings, the creation code would not match, or far more bytes would differ.
            if self.creation_only.is_some() || settings::only_source_differs(distance, self.chain.runtime.len()) {
                break;
            }
            targets = vec![file];
        }
        Ok(SearchResult::NoMatch(self.refuse()))
    }

    /// The files of the request. One without a name gets that of the contract.
    fn files(&self) -> Files {
        let Some(text) = self.request.sources.single_file() else { return self.request.sources.files.clone() };
        let name = self.request.contract_name.as_deref().unwrap_or(UNNAMED);
        let name = name.rsplit(':').next().unwrap_or(name).trim_end_matches(".vy");
        Files::from([(format!("{name}.vy"), text.to_owned())])
    }

    /// The files that may be the contract, most likely first.
    fn targets(&self, files: &Files) -> Vec<String> {
        let wanted = |file: &&String| is_contract(file) && self.request.matches_name(file, &contract_name(file));
        let mut targets: Vec<String> = files.keys().filter(wanted).cloned().collect();
        let imported: BTreeSet<String> = targets.iter().flat_map(|file| imports::direct(files, file)).collect();
        let selected = self.request.sources.target.as_ref().map(|(file, _)| file);
        targets.sort_by_key(|file| (Some(file) != selected, imported.contains(file)));
        targets.truncate(MAX_COMPILED);
        targets
    }

    fn may_continue(&mut self) -> bool {
        if self.compilations >= self.config.search_compilations {
            self.stopped = Some(StopReason::Compilations(self.config.search_compilations));
        } else if Instant::now() >= self.deadline {
            self.stopped = Some(StopReason::Time(self.config.search_time));
        } else if self.session.is_exhausted() {
            self.stopped = Some(StopReason::CpuTime);
        }
        self.stopped.is_none()
    }

    /// None if it does not compile.
    async fn compile(
        &mut self,
        files: &Files,
        settings: &Settings,
        file: &str,
    ) -> Result<Option<CompiledContract>, VerifyError> {
        self.compilations += 1;
        let version = self.session.version();
        let input = input::build(files, settings, file, Outputs::of(version.release()), version.release());
        Ok(match compile(self.session, self.request, input).await? {
            Ok(contracts) => contracts.into_iter().find(|contract| contract.file == file),
            Err(refusal) => {
                self.failure.get_or_insert(refusal);
                None
            }
        })
    }

    /// The match, or how far the code is from it.
    fn compare(&mut self, files: &Files, settings: &Settings, compiled: CompiledContract) -> (Option<Box<Match>>, u64) {
        let comparison = compare(&compiled, None, self.chain);
        let difference = match &comparison.runtime {
            Err(difference) => difference.clone(),
            Ok(runtime) => {
                let (runtime, files, settings) = (runtime.clone(), files.clone(), settings.clone());
                let found = Match { runtime, comparison, compiled, altered: None, files, settings };
                return (Some(Box::new(found)), 0);
            }
        };
        if let Some(kind) = comparison.creation_kind() {
            let (contract, file) = (compiled.name.clone(), compiled.file.clone());
            let difference = difference.clone();
            self.creation_only.get_or_insert(Refusal::CreationOnly { contract, file, kind, difference });
        }
        let distance = difference.distance();
        if self.closest.as_ref().is_none_or(|closest| distance < closest.difference.distance()) {
            let settings = settings::describe(settings);
            self.closest = Some(Closest { contract: compiled.name, settings, difference });
        }
        (None, distance)
    }

    /// Removes the files that the contract does not use: they are not proven.
    async fn without_unused(&mut self, mut found: Box<Match>) -> Result<Box<Match>, VerifyError> {
        let used = imports::reachable(&found.files, &found.compiled.file);
        let all: Vec<String> = found.files.keys().cloned().collect();
        let unused: Vec<String> = all.into_iter().filter(|file| !used.contains(file)).collect();
        let mut trials: Vec<Vec<String>> = vec![unused];
        let others = used.into_iter().filter(|file| *file != found.compiled.file);
        trials.extend(others.take(MAX_REMOVED).map(|file| vec![file]));
        for removed in trials {
            if removed.is_empty() || self.session.is_exhausted() {
                continue;
            }
            let mut files = found.files.clone();
            files.retain(|file, _| !removed.contains(file));
            let (settings, file) = (found.settings.clone(), found.compiled.file.clone());
            if let Some(compiled) = self.compile(&files, &settings, &file).await?
                && compiled.runtime == found.compiled.runtime
                && compiled.creation == found.compiled.creation
            {
                found.files = files;
            }
        }
        Ok(found)
    }

    fn refuse(self) -> Refusal {
        if let Some(refusal) = self.creation_only {
            return refusal;
        }
        match (self.closest, self.failure) {
            (Some(Closest { contract, settings, difference }), _) => Refusal::ClosestVyper {
                contract,
                settings,
                difference,
                compilations: self.compilations,
                stopped: self.stopped,
            },
            (None, Some(failure)) => failure,
            (None, None) => Refusal::NoContract { named: self.request.contract_name.clone() },
        }
    }
}

/// What a match of runtime code proves about the text of the sources.
pub(crate) fn describe_match(name: &str, creation: Option<MatchKind>) -> String {
    match creation {
        Some(MatchKind::Exact) => format!(
            "Match: {name} compiles to the code, and the hash of all sources in the creation code matches. Vyper writes none into runtime code, so the match of that is partial."
        ),
        _ => format!(
            "Partial match: {name} compiles to the code, which contains no hash of the sources: comments and names in the source are unproven."
        ),
    }
}
