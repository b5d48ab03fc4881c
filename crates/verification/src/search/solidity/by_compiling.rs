//! The search by compiling, for code without a metadata hash or if no candidate has it.

use super::SoliditySearch;
use crate::{
    error::VerifyError,
    matching::Difference,
    search::{Files, Match, Refusal, Settings, StopReason},
    settings::{Candidates, Fingerprint, SettingsChoice, TrialOutcome},
};

/// The search ends after this many compilations if no code length came near that on the chain.
const FAR_COMPILATIONS: u32 = 8;

impl SoliditySearch<'_> {
    /// Tries settings by compiling, in the order that the fingerprint of the code suggests.
    pub(super) async fn try_by_compiling(
        &mut self,
        files: &Files,
        base: &Settings,
        names: &[(String, String)],
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let fingerprint = Fingerprint::of(self.chain.runtime);
        let mut candidates = Candidates::new(&self.compiler.version, &fingerprint, self.request.requested_settings());
        let mut last = None;
        let mut came_near = false;
        while let Some(choice) = candidates.next(last) {
            if !came_near && self.compilations >= FAR_COMPILATIONS {
                self.stopped = Some(StopReason::NoSimilarLength);
            }
            if !self.may_continue() || self.only_source_differs(choice) {
                break;
            }
            let mut settings = base.clone();
            choice.apply(&mut settings);
            let compiled = match self.compile_code(files, &settings, names).await? {
                Ok(compiled) => compiled,
                Err(refusal) => {
                    let stopped = matches!(refusal, Refusal::Compiler(_));
                    self.failure.get_or_insert(refusal);
                    if stopped {
                        break;
                    }
                    last = Some(TrialOutcome::Failed);
                    continue;
                }
            };
            let (found, trial) = self.compare_all(files, &settings, choice, compiled).await?;
            if let Some(found) = found {
                return self.with_libraries(files, base, choice, found).await.map(Some);
            }
            came_near |= matches!(trial, TrialOutcome::Near(_));
            last = Some(trial);
        }
        Ok(None)
    }

    /// Whether so few bytes differ that the settings must be right and the source differs: other settings would change more
    /// bytes.
    fn only_source_differs(&self, next: SettingsChoice) -> bool {
        self.closest.as_ref().is_some_and(|closest| {
            let same_target = (closest.choice.evm_version, closest.choice.via_ir) == (next.evm_version, next.via_ir);
            let one_in = if same_target { 500 } else { 100 };
            matches!(closest.difference, Difference::Code { differing, on_chain_length, .. }
                if differing * one_in <= on_chain_length)
        })
    }
}
