//! The comparison of what was compiled with the chain.

use alloy_primitives::B256;

use super::{Closest, Files, Match, Search, Settings};
use crate::{
    Auxdata, CompiledContract,
    code::hash_metadata,
    matching::{Comparison, Deployed, Difference, compare},
    settings::{Filling, MetadataTemplate, SettingsChoice, Trial, replace_sources},
    verify::{
        VerifyError, build,
        refusal::Stopped,
        selectors::{FunctionsDiffer, has_other_constants},
    },
};

impl Search<'_> {
    /// Compares what was compiled with the chain; gives the best match, else how the closest one differs.
    pub(super) async fn judge(
        &mut self,
        files: &Files,
        settings: &Settings,
        choice: SettingsChoice,
        compiled: Vec<CompiledContract>,
    ) -> Result<(Option<Box<Match>>, Trial), VerifyError> {
        let mut best: Option<Box<Match>> = None;
        let mut nearest: Option<(u64, Trial)> = None;
        let mut others = 0;
        let compared = compiled.len();
        for contract in compiled {
            let comparison = self.compare(files, settings, choice, &contract).await?;
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
                    let functions = FunctionsDiffer::between(&contract, self.chain.runtime);
                    let other = functions.is_some() || has_other_constants(&contract.runtime.bytes, self.chain.runtime);
                    others += usize::from(other || *difference == Difference::NoCode);
                    self.note(&contract, choice, difference.clone(), functions);
                }
                (None, Ok(_)) => {}
            }
        }
        if best.is_none() && compared > 0 && others == compared && self.closest.is_some() {
            self.stopped = Some(Stopped::OtherSource);
        }
        Ok((best, nearest.map_or(Trial::Failed, |(_, trial)| trial)))
    }

    /// Compares, and finds out where metadata of other contracts is in the code if nothing else differs.
    async fn compare(
        &mut self,
        files: &Files,
        settings: &Settings,
        choice: SettingsChoice,
        contract: &CompiledContract,
    ) -> Result<Comparison, VerifyError> {
        let comparison = compare(contract, None, self.chain);
        if !comparison.wants_altered() {
            return Ok(comparison);
        }
        if let Some(altered) = self.alter_known_metadata(files, choice, contract) {
            let comparison = compare(contract, Some(&altered), self.chain);
            if comparison.overall().is_some() {
                return Ok(comparison);
            }
        }
        Ok(match self.compile_altered(files, settings, contract).await? {
            Some(altered) => compare(contract, Some(&altered), self.chain),
            None => comparison,
        })
    }

    /// The contract as other comments would make it, without compiling: the hashes of the metadata of all contracts are
    /// known, and where code holds one of them, that is metadata. No constant can be the hash of a text that the source
    /// of the constant is part of.
    fn alter_known_metadata(
        &self,
        files: &Files,
        choice: SettingsChoice,
        contract: &CompiledContract,
    ) -> Option<CompiledContract> {
        let kind = Auxdata::at_end_of(&contract.runtime.bytes)?.hash()?.kind();
        let sent = &self.request.sources;
        let path = sent.single_file().and_then(|_| files.keys().next()).map(String::as_str);
        // A single file may have got another name.
        let files: Files = match path {
            Some(_) => sent.files.keys().cloned().zip(files.values().cloned()).collect(),
            None => files.clone(),
        };
        let mut hashes: Vec<B256> = Vec::new();
        for metadata in &self.metadata {
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
            found += flip(code, &hashes);
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
        let compiled = self.compile_code(&build::altered(files), settings, &wanted).await?;
        Ok(compiled.ok().and_then(|compiled| compiled.into_iter().next()))
    }

    fn note(
        &mut self,
        contract: &CompiledContract,
        choice: SettingsChoice,
        difference: Difference,
        functions: Option<FunctionsDiffer>,
    ) {
        let closer = self.closest.as_ref().is_none_or(|closest| difference.distance() < closest.difference.distance());
        if closer && difference != Difference::NoCode {
            self.closest = Some(Closest { contract: contract.name.clone(), choice, difference, functions });
        }
    }
}

/// Changes every byte of the hashes that code holds; gives the number of places.
fn flip(code: &mut [u8], hashes: &[B256]) -> usize {
    let places: Vec<usize> = code
        .windows(B256::len_bytes())
        .enumerate()
        .filter(|(_, window)| hashes.iter().any(|hash| hash.as_slice() == *window))
        .map(|(place, _)| place)
        .collect();
    for place in &places {
        for byte in code.iter_mut().skip(*place).take(B256::len_bytes()) {
            *byte = !*byte;
        }
    }
    places.len()
}

fn trial(contract: &CompiledContract, chain: Deployed<'_>) -> Trial {
    let (compiled, on_chain) = (contract.runtime.bytes.len(), chain.runtime.len());
    Trial::of_lengths(compiled, on_chain)
}
