//! Candidate settings to try by compiling; the length of the compiled code decides which is next.

use std::cmp::Ordering;

use super::{EvmVersion, Fingerprint, Optimizer, SettingsChoice, metadata_search::RUNS};
use crate::CompilerVersion;

/// Settings that the request fixes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestedSettings {
    pub(crate) optimizer: Option<bool>,
    pub(crate) runs: Option<u32>,
    pub(crate) evm_version: Option<EvmVersion>,
    pub(crate) via_ir: Option<bool>,
}

/// How the length of compiled code compares with the code on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrialOutcome {
    Shorter(Gap),
    Longer(Gap),
    /// About the same length, but different code: slightly shorter, slightly longer, or neither.
    Near(Ordering),
    /// The compiler rejects the settings for these sources.
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    Small,
    Large,
}

impl TrialOutcome {
    /// Lengths are near if they differ by at most one in this many bytes.
    const NEAR: usize = 40;
    /// Below one in this many bytes, the order says nothing: code length is not strictly monotonic in the runs.
    const SAME: usize = 200;
    /// A gap above one in this many bytes is large.
    const LARGE: usize = 6;

    pub(crate) fn of_lengths(compiled: usize, on_chain: usize) -> Self {
        let within = |share: usize| compiled.abs_diff(on_chain) * share <= on_chain;
        let gap = if within(Self::LARGE) { Gap::Small } else { Gap::Large };
        match compiled.cmp(&on_chain) {
            _ if within(Self::SAME) => Self::Near(Ordering::Equal),
            order if within(Self::NEAR) => Self::Near(order),
            Ordering::Less => Self::Shorter(gap),
            _ => Self::Longer(gap),
        }
    }
}

/// Iterates over candidate settings. Code gets longer with more runs, so the number of runs is found by binary search; but
/// not strictly, so once the length is near, the usual numbers are tried one by one. After a large gap the extreme number is
/// tried next: if that is not enough, no number of runs is.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Combinations of IR and EVM version, the next one last.
    targets: Vec<CodeTarget>,
    optimizers: Optimizers,
    untried: Optimizers,
    current: Option<CodeTarget>,
    came_near: bool,
}

/// A combination of IR and EVM version.
#[derive(Debug, Clone, Copy)]
struct CodeTarget {
    via_ir: bool,
    evm_version: Option<EvmVersion>,
    /// Whether it is consistent with the fingerprint.
    likely: bool,
}

/// The optimizer settings to try for one target.
#[derive(Debug, Clone)]
struct Optimizers {
    /// Tried first.
    first: Vec<Optimizer>,
    /// Possible numbers of runs, ascending.
    runs: Vec<u32>,
    /// The next number to try; None means the middle one.
    next: Option<u32>,
    /// Tried last.
    fallback: Option<Optimizer>,
    last: Option<Optimizer>,
    /// Whether the usual numbers have been queued.
    came_near: bool,
}

/// The most common numbers of runs.
const USUAL: [u32; 8] = [200, 1, 999_999, 10_000, 1_000, 100, 800, 1_000_000];

impl Candidates {
    pub(crate) fn new(compiler: &CompilerVersion, fingerprint: &Fingerprint, given: RequestedSettings) -> Self {
        let mut versions: Vec<Option<EvmVersion>> = match given.evm_version {
            Some(version) => vec![Some(version)],
            None => EvmVersion::groups_for(compiler).into_iter().map(Some).collect(),
        };
        if versions.is_empty() {
            versions.push(None);
        }
        let can_ir = compiler.release() >= (0, 8, 13);
        let via_ir_choices: Vec<bool> = match given.via_ir {
            Some(via_ir) => vec![via_ir],
            None if !can_ir => vec![false],
            None if fingerprint.via_ir == Some(true) => vec![true, false],
            None => vec![false, true],
        };
        let allowed = |via_ir: bool, version: Option<EvmVersion>| {
            let is_via_ir_allowed = given.via_ir.is_some() || fingerprint.via_ir.is_none_or(|shown| shown == via_ir);
            is_via_ir_allowed
                && (given.evm_version.is_some() || version.is_none_or(|version| fingerprint.allows(version)))
        };
        let target = |via_ir, evm_version| CodeTarget { via_ir, evm_version, likely: allowed(via_ir, evm_version) };
        let mut targets: Vec<_> = via_ir_choices
            .iter()
            .flat_map(|via_ir| versions.iter().map(move |version| target(*via_ir, *version)))
            .collect();
        // A stable sort keeps the order within each group.
        targets.sort_by_key(|target| !target.likely);
        targets.reverse();
        let untried = Optimizers::new(fingerprint, given);
        Self { targets, optimizers: untried.clone(), untried, current: None, came_near: false }
    }

    /// The next candidate, given the outcome of the last one.
    pub(crate) fn next(&mut self, last: Option<TrialOutcome>) -> Option<SettingsChoice> {
        self.came_near |= matches!(last, Some(TrialOutcome::Near(_)));
        if last == Some(TrialOutcome::Failed) {
            self.current = None;
        }
        let outcome = last.filter(|_| self.current.is_some());
        if let Some(target) = self.current
            && let Some(optimizer) = self.optimizers.next(outcome)
        {
            return Some(choice(target, optimizer));
        }
        // Targets that the fingerprint rules out are not worth a compilation if another target came near.
        let target = self.targets.pop().filter(|target| target.likely || !self.came_near)?;
        self.current = Some(target);
        self.optimizers = self.untried.clone();
        self.optimizers.next(None).map(|optimizer| choice(target, optimizer))
    }
}

fn choice(target: CodeTarget, optimizer: Optimizer) -> SettingsChoice {
    SettingsChoice { optimizer, evm_version: target.evm_version, via_ir: target.via_ir }
}

impl Optimizers {
    fn new(fingerprint: &Fingerprint, given: RequestedSettings) -> Self {
        let mut runs = RUNS.to_vec();
        runs.sort_unstable();
        let start = if fingerprint.optimized_for_size == Some(false) { 10_000 } else { 200 };
        let none =
            Self { first: Vec::new(), runs: Vec::new(), next: None, fallback: None, last: None, came_near: false };
        match (given.optimizer, given.runs) {
            (Some(false), runs) => {
                Self { first: vec![Optimizer { enabled: false, runs: runs.unwrap_or(200) }], ..none }
            }
            (Some(true) | None, Some(runs)) => Self { first: vec![Optimizer::on(runs)], ..none },
            (Some(true), None) => Self { runs, next: Some(start), ..none },
            (None, None) if fingerprint.optimized => {
                let mut first = vec![Optimizer::on(200)];
                // Full address masks indicate many runs, and then 999,999 is by far the most common.
                if fingerprint.optimized_for_size == Some(false) {
                    first.insert(0, Optimizer::on(999_999));
                }
                Self { first, runs, fallback: Some(Optimizer::OFF), ..none }
            }
            (None, None) => Self { first: vec![Optimizer::OFF], runs, next: Some(200), ..none },
        }
    }

    fn next(&mut self, outcome: Option<TrialOutcome>) -> Option<Optimizer> {
        if let (Some(Optimizer { enabled: true, runs }), Some(outcome)) = (self.last, outcome) {
            self.narrow(runs, outcome);
        }
        let next = if self.first.is_empty() {
            self.next_runs().or_else(|| self.fallback.take())
        } else {
            Some(self.first.remove(0))
        };
        self.last = next;
        next
    }

    /// Drops the numbers of runs that an outcome rules out.
    fn narrow(&mut self, runs: u32, outcome: TrialOutcome) {
        match outcome {
            TrialOutcome::Shorter(gap) => {
                self.keep(|other| other > runs);
                self.next = self.runs.last().copied().filter(|_| gap == Gap::Large);
            }
            TrialOutcome::Longer(gap) => {
                self.keep(|other| other < runs);
                self.next = self.runs.first().copied().filter(|_| gap == Gap::Large);
            }
            TrialOutcome::Near(order) if !self.came_near => {
                self.came_near = true;
                let possible = |other: &u32| match order {
                    Ordering::Less => *other > runs,
                    Ordering::Equal => *other != runs,
                    Ordering::Greater => *other < runs,
                };
                let usual = USUAL.into_iter().filter(|other| possible(other) && self.runs.contains(other));
                self.first.extend(usual.map(Optimizer::on));
                self.runs.clear();
            }
            TrialOutcome::Near(_) | TrialOutcome::Failed => {}
        }
    }

    /// Drops the other numbers of runs, also the queued ones.
    fn keep(&mut self, possible: impl Fn(u32) -> bool) {
        self.runs.retain(|runs| possible(*runs));
        self.first.retain(|optimizer| !optimizer.enabled || possible(optimizer.runs));
    }

    fn next_runs(&mut self) -> Option<Optimizer> {
        let wanted = self.next.take().filter(|next| self.runs.contains(next));
        let middle = || self.runs.get(self.runs.len() / 2).copied();
        wanted.or_else(middle).map(Optimizer::on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::fingerprint::EvmRange;

    const FINGERPRINT: Fingerprint = Fingerprint {
        via_ir: Some(false),
        optimized: true,
        optimized_for_size: None,
        evm_range: EvmRange::FromShanghai,
    };

    /// Searches for settings with code that grows with the runs; returns the number of trials.
    fn search(fingerprint: &Fingerprint, given: RequestedSettings, wanted: SettingsChoice) -> Option<usize> {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), fingerprint, given);
        let mut last = None;
        for tried in 1..200 {
            let choice = candidates.next(last)?;
            if choice == wanted {
                return Some(tried);
            }
            let same_target = (choice.via_ir, choice.evm_version) == (wanted.via_ir, wanted.evm_version);
            last = Some(match choice.optimizer {
                _ if !same_target => TrialOutcome::Near(Ordering::Equal),
                Optimizer { enabled: false, .. } => TrialOutcome::Longer(Gap::Small),
                Optimizer { runs, .. } if !wanted.optimizer.enabled || runs < wanted.optimizer.runs => {
                    TrialOutcome::Shorter(Gap::Small)
                }
                _ => TrialOutcome::Longer(Gap::Small),
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
            let tried = search(&FINGERPRINT, RequestedSettings::default(), wanted(Optimizer::on(runs))).unwrap();
            assert!(tried <= 8, "{runs}: {tried}");
        }
        assert_eq!(search(&FINGERPRINT, RequestedSettings::default(), wanted(Optimizer::on(200))), Some(1));
        let plain = Fingerprint { optimized: false, ..FINGERPRINT };
        assert_eq!(search(&plain, RequestedSettings::default(), wanted(Optimizer::OFF)), Some(1));
    }

    #[test]
    fn full_masks_move_the_highest_runs_first() {
        let large = Fingerprint { optimized_for_size: Some(false), ..FINGERPRINT };
        assert_eq!(search(&large, RequestedSettings::default(), wanted(Optimizer::on(999_999))), Some(1));
        for runs in RUNS {
            let tried = search(&large, RequestedSettings::default(), wanted(Optimizer::on(runs))).unwrap();
            assert!(tried <= 8, "{runs}: {tried}");
        }
    }

    #[test]
    fn a_near_length_queues_the_usual_numbers_once() {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &FINGERPRINT, RequestedSettings::default());
        let mut tried = vec![candidates.next(None).unwrap()];
        while let Some(choice) = candidates.next(Some(TrialOutcome::Near(Ordering::Equal)))
            && choice.evm_version == Some(EvmVersion::Shanghai)
        {
            tried.push(choice);
        }
        let runs: Vec<u32> = tried.iter().filter(|one| one.optimizer.enabled).map(|one| one.optimizer.runs).collect();
        assert_eq!(runs, USUAL);
        assert_eq!(tried.len(), USUAL.len() + 1, "and once without the optimizer");
    }

    #[test]
    fn a_number_that_is_too_high_leaves_the_lower_ones_queued() {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &FINGERPRINT, RequestedSettings::default());
        let mut runs = |last| candidates.next(last).unwrap().optimizer.runs;
        assert_eq!(runs(None), 200);
        assert_eq!(runs(Some(TrialOutcome::Near(Ordering::Less))), 999_999);
        assert_eq!(runs(Some(TrialOutcome::Longer(Gap::Large))), 10_000);
        assert_eq!(runs(Some(TrialOutcome::Longer(Gap::Large))), 1_000);
        assert_eq!(runs(Some(TrialOutcome::Near(Ordering::Greater))), 800);
    }

    #[test]
    fn given_settings_are_not_searched() {
        let given = RequestedSettings {
            optimizer: Some(true),
            runs: Some(77),
            evm_version: Some(EvmVersion::Paris),
            via_ir: Some(true),
        };
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &FINGERPRINT, given);
        let only = SettingsChoice { optimizer: Optimizer::on(77), evm_version: Some(EvmVersion::Paris), via_ir: true };
        assert_eq!(candidates.next(None), Some(only));
        assert_eq!(candidates.next(Some(TrialOutcome::Near(Ordering::Equal))), None);
    }

    #[test]
    fn a_target_that_fails_is_skipped() {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &FINGERPRINT, RequestedSettings::default());
        let first = candidates.next(None).unwrap();
        let second = candidates.next(Some(TrialOutcome::Failed)).unwrap();
        assert_ne!(first.evm_version, second.evm_version);
    }

    #[test]
    fn evm_versions_that_fit_the_fingerprint_come_first() {
        let old = Fingerprint { evm_range: EvmRange::BeforeShanghai, ..FINGERPRINT };
        let first = Candidates::new(&"0.8.20".parse().unwrap(), &old, RequestedSettings::default()).next(None).unwrap();
        assert_eq!(first.evm_version, Some(EvmVersion::London));
    }

    #[test]
    fn lengths_are_classified_by_distance() {
        assert_eq!(TrialOutcome::of_lengths(1_000, 1_000), TrialOutcome::Near(Ordering::Equal));
        assert_eq!(TrialOutcome::of_lengths(1_010, 1_000), TrialOutcome::Near(Ordering::Greater));
        assert_eq!(TrialOutcome::of_lengths(990, 1_000), TrialOutcome::Near(Ordering::Less));
        assert_eq!(TrialOutcome::of_lengths(900, 1_000), TrialOutcome::Shorter(Gap::Small));
        assert_eq!(TrialOutcome::of_lengths(2_000, 1_000), TrialOutcome::Longer(Gap::Large));
    }

    #[test]
    fn a_target_ends_if_its_highest_runs_are_too_short() {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &FINGERPRINT, RequestedSettings::default());
        let mut tried = Vec::new();
        let mut last = None;
        while let Some(choice) = candidates.next(last)
            && choice.evm_version == Some(EvmVersion::Shanghai)
        {
            tried.push(choice.optimizer);
            last = Some(TrialOutcome::Shorter(Gap::Large));
        }
        assert_eq!(tried, [Optimizer::on(200), Optimizer::on(u32::MAX), Optimizer::OFF]);
    }

    #[test]
    fn targets_ruled_out_by_the_fingerprint_are_skipped_once_another_came_near() {
        let mut candidates = Candidates::new(&"0.8.20".parse().unwrap(), &FINGERPRINT, RequestedSettings::default());
        let mut last = None;
        while let Some(choice) = candidates.next(last) {
            assert_eq!((choice.evm_version, choice.via_ir), (Some(EvmVersion::Shanghai), false));
            last = Some(TrialOutcome::Near(Ordering::Equal));
        }
    }
}
