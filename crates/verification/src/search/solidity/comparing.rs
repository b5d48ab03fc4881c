//! Compares compiled contracts with the chain during a search.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::B256;
use serde::{Deserialize, de::IgnoredAny};

use super::{Closest, SoliditySearch, input};
use crate::{
    Auxdata, CompiledContract,
    code::hash_metadata,
    error::VerifyError,
    matching::{Comparison, DeployedCode, Difference, compare},
    search::{
        Files, Match, Refusal, Settings, StopReason,
        selectors::{FunctionDifference, has_other_constants},
    },
    settings::{Filling, MetadataTemplate, SettingsChoice, TrialOutcome, replace_sources},
};

impl SoliditySearch<'_> {
    /// Compares compiled contracts with the chain; returns the best match, and how the code length of the closest one compares.
    pub(super) async fn compare_all(
        &mut self,
        files: &Files,
        settings: &Settings,
        choice: SettingsChoice,
        compiled: Vec<CompiledContract>,
    ) -> Result<(Option<Box<Match>>, TrialOutcome), VerifyError> {
        let mut best: Option<Box<Match>> = None;
        let mut nearest: Option<(u64, TrialOutcome)> = None;
        let mut others = 0;
        let compared = compiled.len();
        for contract in compiled {
            let (comparison, altered) = self.compare(files, settings, choice, &contract).await?;
            match &comparison.runtime {
                Ok(runtime) => {
                    // Of two with the same runtime code, prefer the one whose creation code matches.
                    let rank = |comparison: &Comparison| (comparison.verdict(), comparison.creation_kind());
                    if best.as_ref().is_none_or(|best| rank(&best.comparison) < rank(&comparison)) {
                        best = Some(Box::new(Match {
                            runtime: runtime.clone(),
                            comparison,
                            compiled: contract,
                            altered,
                            files: files.clone(),
                            settings: settings.clone(),
                        }));
                    }
                }
                Err(difference) => {
                    if let Some(kind) = comparison.creation_kind() {
                        self.creation_only.get_or_insert_with(|| Refusal::CreationOnly {
                            contract: contract.name.clone(),
                            file: contract.file.clone(),
                            kind,
                            difference: difference.clone(),
                        });
                    }
                    let distance = difference.distance();
                    if nearest.as_ref().is_none_or(|(least, _)| distance < *least) && distance != u64::MAX {
                        nearest = Some((distance, trial(&contract, self.chain)));
                    }
                    let functions = FunctionDifference::between(&contract, self.chain.runtime);
                    let other = functions.is_some() || has_other_constants(&contract.runtime.bytes, self.chain.runtime);
                    others += usize::from(other || *difference == Difference::NoCode);
                    self.update_closest(&contract, choice, difference.clone(), functions);
                }
            }
        }
        if best.is_none() && compared > 0 && others == compared && self.closest.is_some() {
            self.stopped = Some(StopReason::OtherSource);
        }
        Ok((best, nearest.map_or(TrialOutcome::Failed, |(_, trial)| trial)))
    }

    /// Compares one contract. If only bytes that look like metadata differ, locates the metadata with an altered contract, which
    /// is returned too.
    async fn compare(
        &mut self,
        files: &Files,
        settings: &Settings,
        choice: SettingsChoice,
        contract: &CompiledContract,
    ) -> Result<(Comparison, Option<CompiledContract>), VerifyError> {
        let comparison = compare(contract, None, self.chain);
        if !comparison.needs_altered() {
            return Ok((comparison, None));
        }
        if let Some(altered) = self.alter_known_metadata(files, choice, contract) {
            let comparison = compare(contract, Some(&altered), self.chain);
            if comparison.runtime.is_ok() && !matches!(comparison.creation, Some(Err(_))) {
                return Ok((comparison, Some(altered)));
            }
        }
        Ok(match self.compile_altered(files, settings, contract).await? {
            Some(altered) => (compare(contract, Some(&altered), self.chain), Some(altered)),
            None => (comparison, None),
        })
    }

    /// The contract as compiled from altered sources, but without compiling: the metadata hashes of all contracts are known, and
    /// where the code contains one of them, that is metadata.
    ///
    /// Only metadata that covers every source of this contract counts. Then no constant of the contract can be its hash, since
    /// the hash depends on that constant. A constant in one file can be the hash of metadata that covers only other files.
    fn alter_known_metadata(
        &self,
        files: &Files,
        choice: SettingsChoice,
        contract: &CompiledContract,
    ) -> Option<CompiledContract> {
        let kind = Auxdata::at_end_of(&contract.runtime.bytes)?.hash()?.kind();
        let sent = &self.request.sources;
        let path = sent.single_file().and_then(|_| files.keys().next()).map(String::as_str);
        // A single file may have been renamed by the search.
        let files: Files = match path {
            Some(_) => sent.files.keys().cloned().zip(files.values().cloned()).collect(),
            None => files.clone(),
        };
        let mut hashes: Vec<B256> = Vec::new();
        // A single file is covered by the metadata of every contract in it, under any name.
        let own = if path.is_some() { BTreeSet::new() } else { source_names(&contract.metadata)? };
        let covering = |metadata: &&String| source_names(metadata).is_some_and(|names| names.is_superset(&own));
        for metadata in self.metadata.iter().filter(covering) {
            let changed = replace_sources(metadata, &sent.files, &files);
            let metadata = changed.as_deref().unwrap_or(metadata);
            let mut filled = Vec::new();
            if let Some(template) = MetadataTemplate::new(metadata) {
                template.fill(&Filling { path, choice, libraries: None }, &mut filled);
            }
            let texts = [metadata.as_bytes(), filled.as_slice()];
            hashes.extend(texts.iter().filter_map(|text| hash_metadata(kind, text)).map(|hash| hash.digest()));
        }
        let mut altered = contract.clone();
        let mut found = 0;
        for code in [&mut altered.runtime.bytes, &mut altered.creation.bytes] {
            found += invert_hashes(code, &hashes);
        }
        (found > 0).then_some(altered)
    }

    async fn compile_altered(
        &mut self,
        files: &Files,
        settings: &Settings,
        contract: &CompiledContract,
    ) -> Result<Option<CompiledContract>, VerifyError> {
        let wanted = [(contract.file.clone(), contract.name.clone())];
        let compiled = self.compile_code(&input::altered(files), settings, &wanted).await?;
        Ok(compiled.ok().and_then(|compiled| compiled.into_iter().next()))
    }

    fn update_closest(
        &mut self,
        contract: &CompiledContract,
        choice: SettingsChoice,
        difference: Difference,
        functions: Option<FunctionDifference>,
    ) {
        let closer = self.closest.as_ref().is_none_or(|closest| difference.distance() < closest.difference.distance());
        if closer && difference != Difference::NoCode {
            self.closest = Some(Closest { contract: contract.name.clone(), choice, difference, functions });
        }
    }
}

/// The names of the sources in metadata.
fn source_names(metadata: &str) -> Option<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Metadata {
        sources: BTreeMap<String, IgnoredAny>,
    }
    let metadata: Metadata = serde_json::from_str(metadata).ok()?;
    Some(metadata.sources.into_keys().collect())
}

/// Inverts every byte of the hashes in the code; returns their number.
fn invert_hashes(code: &mut [u8], hashes: &[B256]) -> usize {
    let offsets: Vec<usize> = code
        .windows(B256::len_bytes())
        .enumerate()
        .filter(|(_, window)| hashes.iter().any(|hash| hash.as_slice() == *window))
        .map(|(offset, _)| offset)
        .collect();
    for offset in &offsets {
        for byte in code.iter_mut().skip(*offset).take(B256::len_bytes()) {
            *byte = !*byte;
        }
    }
    offsets.len()
}

fn trial(contract: &CompiledContract, chain: DeployedCode<'_>) -> TrialOutcome {
    let (compiled, on_chain) = (contract.runtime.bytes.len(), chain.runtime.len());
    TrialOutcome::of_lengths(compiled, on_chain)
}
