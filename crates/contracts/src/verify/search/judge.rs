//! What was compiled, held against the chain.

use super::{Closest, Files, Match, Search, Settings};
use crate::{
    CompiledContract,
    matching::{Comparison, Deployed, Difference, compare},
    settings::{SettingsChoice, Trial},
    verify::{Refusal, VerifyError, build},
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
        for contract in compiled {
            let mut comparison = compare(&contract, None, self.chain);
            let mut altered = None;
            if comparison.wants_altered() {
                altered = self.compile_altered(files, settings, &contract).await?;
                comparison = compare(&contract, altered.as_ref(), self.chain);
            }
            match &comparison.runtime {
                Ok(runtime) => {
                    // Of two that give the running code, the one whose constructor ran.
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
                    self.note(&contract, choice, difference.clone());
                }
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
