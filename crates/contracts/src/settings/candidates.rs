//! Settings to try by compiling, and which to try next after seeing how long the code came out.

use super::{EvmVersion, Fingerprint, Optimizer, SettingsChoice, oracle::RUNS};
use crate::CompilerVersion;

/// What is given, and need not be searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) optimizer: Option<bool>,
    pub(crate) runs: Option<u32>,
    pub(crate) evm_version: Option<EvmVersion>,
    pub(crate) via_ir: Option<bool>,
}

/// How the code of a trial compares with the code on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    Shorter,
    Longer,
    /// As long or nearly so, but other code.
    Near,
    /// The settings are not for this compiler or these sources.
    Failed,
}

/// Gives one choice after the other. Code gets longer as runs rise, so the number of runs is found by halving; but not
/// strictly so, and once the length is nearly right the usual numbers are tried one by one.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Ways and rules to go through, the next one last.
    kinds: Vec<(bool, Option<EvmVersion>)>,
    optimizers: Optimizers,
    fresh: Optimizers,
    current: Option<(bool, Option<EvmVersion>)>,
}

/// The optimizer's settings under one kind.
#[derive(Debug, Clone)]
struct Optimizers {
    /// To be tried in any case.
    first: Vec<Optimizer>,
    /// Numbers of runs in ascending order that are still possible.
    runs: Vec<u32>,
    /// The first number to try; later ones lie in the middle.
    start: Option<u32>,
    last: Option<Optimizer>,
    /// Whether the usual numbers have been put on the list.
    came_near: bool,
}

/// The numbers of runs that most people set.
const USUAL: [u32; 6] = [200, 1, 999_999, 10_000, 1_000, 100];

impl Candidates {
    pub(crate) fn new(compiler: &CompilerVersion, fingerprint: &Fingerprint, given: Given) -> Self {
        let mut versions: Vec<Option<EvmVersion>> = match given.evm_version {
            Some(version) => vec![Some(version)],
            None => EvmVersion::kinds_for(compiler).into_iter().map(Some).collect(),
        };
        // Stable: among those that are alike, the order stays.
        versions.sort_by_key(|version| version.is_some_and(|version| !fingerprint.allows(version)));
        if versions.is_empty() {
            versions.push(None);
        }
        let can_ir = compiler.release() >= (0, 8, 13);
        let ways: Vec<bool> = match given.via_ir {
            Some(via_ir) => vec![via_ir],
            None if !can_ir => vec![false],
            None if fingerprint.via_ir => vec![true, false],
            None => vec![false, true],
        };
        let mut kinds: Vec<_> =
            ways.iter().flat_map(|way| versions.iter().map(move |version| (*way, *version))).collect();
        kinds.reverse();
        let fresh = Optimizers::new(fingerprint, given);
        Self { kinds, optimizers: fresh.clone(), fresh, current: None }
    }

    /// The next choice, after what the last one gave.
    pub(crate) fn next(&mut self, last: Option<Trial>) -> Option<SettingsChoice> {
        if last == Some(Trial::Failed) {
            self.current = None;
        }
        let outcome = last.filter(|_| self.current.is_some());
        if let Some(kind) = self.current
            && let Some(optimizer) = self.optimizers.next(outcome)
        {
            return Some(choice(kind, optimizer));
        }
        let kind = self.kinds.pop()?;
        self.current = Some(kind);
        self.optimizers = self.fresh.clone();
        self.optimizers.next(None).map(|optimizer| choice(kind, optimizer))
    }
}

fn choice((via_ir, evm_version): (bool, Option<EvmVersion>), optimizer: Optimizer) -> SettingsChoice {
    SettingsChoice { optimizer, evm_version, via_ir }
}

impl Optimizers {
    fn new(fingerprint: &Fingerprint, given: Given) -> Self {
        let mut runs = RUNS.to_vec();
        runs.sort_unstable();
        let start = match fingerprint.small {
            Some(true) => 200,
            Some(false) => 10_000,
            None => 200,
        };
        let none = Self { first: Vec::new(), runs: Vec::new(), start: None, last: None, came_near: false };
        match (given.optimizer, given.runs) {
            (Some(false), runs) => {
                Self { first: vec![Optimizer { enabled: false, runs: runs.unwrap_or(200) }], ..none }
            }
            (Some(true) | None, Some(runs)) => Self { first: vec![Optimizer::on(runs)], ..none },
            (Some(true), None) => Self { runs, start: Some(start), ..none },
            (None, None) if fingerprint.optimized => {
                let mut first = vec![Optimizer::on(200), Optimizer::OFF];
                // Masks in full are what many runs make; the most by far is what people set then.
                if fingerprint.small == Some(false) {
                    first.insert(0, Optimizer::on(999_999));
                }
                Self { first, runs, ..none }
            }
            (None, None) => Self { first: vec![Optimizer::OFF], runs, start: Some(200), ..none },
        }
    }

    fn next(&mut self, outcome: Option<Trial>) -> Option<Optimizer> {
        if let (Some(Optimizer { enabled: true, runs }), Some(outcome)) = (self.last, outcome) {
            match outcome {
                Trial::Shorter => self.runs.retain(|other| *other > runs),
                Trial::Longer => self.runs.retain(|other| *other < runs),
                Trial::Near if !self.came_near => {
                    self.came_near = true;
                    let usual = USUAL.into_iter().filter(|other| *other != runs && self.runs.contains(other));
                    self.first.extend(usual.map(Optimizer::on));
                    self.runs.clear();
                }
                Trial::Near | Trial::Failed => {}
            }
        }
        let next = if self.first.is_empty() { self.next_runs() } else { Some(self.first.remove(0)) };
        self.last = next;
        next
    }

    fn next_runs(&mut self) -> Option<Optimizer> {
        let wanted = self.start.take().filter(|start| self.runs.contains(start));
        let middle = || self.runs.get(self.runs.len() / 2).copied();
        wanted.or_else(middle).map(Optimizer::on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::fingerprint::Rules;

    const LOOKS: Fingerprint = Fingerprint { via_ir: false, optimized: true, small: None, rules: Rules::FromShanghai };

    /// Goes on until a choice is found, as code that grows with the runs would tell; gives how many were tried.
    fn search(looks: &Fingerprint, given: Given, wanted: SettingsChoice) -> Option<usize> {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), looks, given);
        let mut last = None;
        for tried in 1..200 {
            let choice = candidates.next(last)?;
            if choice == wanted {
                return Some(tried);
            }
            let kin = (choice.via_ir, choice.evm_version) == (wanted.via_ir, wanted.evm_version);
            last = Some(match choice.optimizer {
                _ if !kin => Trial::Near,
                Optimizer { enabled: false, .. } => Trial::Longer,
                Optimizer { runs, .. } if !wanted.optimizer.enabled || runs < wanted.optimizer.runs => Trial::Shorter,
                _ => Trial::Longer,
            });
        }
        None
    }

    fn wanted(optimizer: Optimizer) -> SettingsChoice {
        SettingsChoice { optimizer, evm_version: Some(EvmVersion::Shanghai), via_ir: false }
    }

    #[test]
    fn every_usual_number_of_runs_is_found_in_a_few_trials() {
        for runs in RUNS {
            let tried = search(&LOOKS, Given::default(), wanted(Optimizer::on(runs))).unwrap();
            assert!(tried <= 8, "{runs}: {tried}");
        }
        assert_eq!(search(&LOOKS, Given::default(), wanted(Optimizer::on(200))), Some(1));
        let plain = Fingerprint { optimized: false, ..LOOKS };
        assert_eq!(search(&plain, Given::default(), wanted(Optimizer::OFF)), Some(1));
    }

    #[test]
    fn masks_in_full_bring_the_most_runs_up_first() {
        let large = Fingerprint { small: Some(false), ..LOOKS };
        assert_eq!(search(&large, Given::default(), wanted(Optimizer::on(999_999))), Some(1));
        for runs in RUNS {
            let tried = search(&large, Given::default(), wanted(Optimizer::on(runs))).unwrap();
            assert!(tried <= 8, "{runs}: {tried}");
        }
    }

    #[test]
    fn a_length_that_is_nearly_right_brings_the_usual_numbers_up_once() {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &LOOKS, Given::default());
        let mut tried = vec![candidates.next(None).unwrap()];
        while let Some(choice) = candidates.next(Some(Trial::Near))
            && choice.evm_version == Some(EvmVersion::Shanghai)
        {
            tried.push(choice);
        }
        let runs: Vec<u32> = tried.iter().filter(|one| one.optimizer.enabled).map(|one| one.optimizer.runs).collect();
        assert_eq!(runs, USUAL);
        assert_eq!(tried.len(), USUAL.len() + 1, "and once without the optimizer");
    }

    #[test]
    fn what_is_given_is_not_searched() {
        let given =
            Given { optimizer: Some(true), runs: Some(77), evm_version: Some(EvmVersion::Paris), via_ir: Some(true) };
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &LOOKS, given);
        let only = SettingsChoice { optimizer: Optimizer::on(77), evm_version: Some(EvmVersion::Paris), via_ir: true };
        assert_eq!(candidates.next(None), Some(only));
        assert_eq!(candidates.next(Some(Trial::Near)), None);
    }

    #[test]
    fn a_kind_that_fails_is_left_at_once() {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &LOOKS, Given::default());
        let first = candidates.next(None).unwrap();
        let second = candidates.next(Some(Trial::Failed)).unwrap();
        assert_ne!(first.evm_version, second.evm_version);
    }

    #[test]
    fn rules_that_the_code_shows_go_first() {
        let old = Fingerprint { rules: Rules::BeforeShanghai, ..LOOKS };
        let first = Candidates::new(&"0.8.20".parse().unwrap(), &old, Given::default()).next(None).unwrap();
        assert_eq!(first.evm_version, Some(EvmVersion::London));
    }
}
