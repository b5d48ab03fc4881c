use std::collections::BTreeMap;

use alloy_primitives::Address;
use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::{
    CompiledContract,
    matching::{CodeMatch, Comparison, MatchKind},
    request::VerifyRequest,
};

pub(crate) type Files = BTreeMap<String, String>;
pub(crate) type Settings = Map<String, Value>;

/// Sources and settings that compile to the code on the chain.
#[derive(Debug)]
pub(crate) struct Match {
    /// The match of the runtime code, which is required.
    pub(crate) runtime: CodeMatch,
    pub(crate) comparison: Comparison,
    pub(crate) compiled: CompiledContract,
    /// The same contract compiled from sources that differ only by a space, if that was needed.
    pub(crate) altered: Option<CompiledContract>,
    pub(crate) files: Files,
    pub(crate) settings: Settings,
}

#[derive(Debug)]
pub(crate) enum SearchResult {
    Match(Box<Match>),
    NoMatch(Refusal),
}

impl Match {
    pub(super) fn is_exact(&self) -> bool {
        self.runtime.kind == MatchKind::Exact
    }

    pub(super) fn libraries(&self) -> impl Iterator<Item = (&String, &Address)> {
        let runtime = &self.runtime.libraries;
        let creation = self.comparison.creation.iter().flatten().flat_map(|(found, _)| &found.libraries);
        let mut seen = std::collections::BTreeSet::new();
        runtime.iter().chain(creation).filter(move |(library, _)| seen.insert((*library).clone()))
    }
}

/// Checks the constructor arguments and libraries of the request.
pub(super) fn check_claims(request: &VerifyRequest, found: Box<Match>) -> SearchResult {
    if let (Some(claimed), Some(Ok((_, arguments)))) = (&request.constructor_arguments, &found.comparison.creation)
        && claimed != arguments
    {
        return SearchResult::NoMatch(Refusal::ConstructorArguments);
    }
    for (library, on_chain) in found.libraries() {
        let name = library.rsplit(':').next().unwrap_or(library);
        let claimed = request.libraries.get(library).or_else(|| request.libraries.get(name));
        if let Some(claimed) = claimed.filter(|claimed| *claimed != on_chain) {
            let (library, claimed, on_chain) = (library.clone(), *claimed, *on_chain);
            return SearchResult::NoMatch(Refusal::Library { library, claimed, on_chain });
        }
    }
    SearchResult::Match(found)
}
