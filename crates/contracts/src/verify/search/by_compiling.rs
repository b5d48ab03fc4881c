//! The way by compiling, where the code tells no hash or none was hit.

use super::{Files, Match, Search, Settings};
use crate::{
    matching::Difference,
    settings::{Candidates, Fingerprint, SettingsChoice, Trial},
    verify::{Refusal, VerifyError},
};

impl Search<'_> {
    /// Tries settings by compiling, in the order that the looks of the code suggest.
    pub(super) async fn try_by_compiling(
        &mut self,
        files: &Files,
        base: &Settings,
        names: &[(String, String)],
    ) -> Result<Option<Box<Match>>, VerifyError> {
        let looks = Fingerprint::of(self.chain.runtime);
        let mut candidates = Candidates::new(&self.compiler.version, &looks, self.request.given());
        let mut last = None;
        while let Some(choice) = candidates.next(last) {
            if !self.may_go_on() || self.is_all_but_there(choice) {
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
}
