//! Whether a method works that can be done without.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;
use tokio::time::Instant;

/// Failures in a row, with the other methods at work, after which a method is not used for a while.
const PATIENCE: u32 = 6;
/// An answer that does not come weighs more than one that says no.
const OVERDUE: u32 = 2;
const FIRST_REST: Duration = Duration::from_secs(15);
const LONGEST_REST: Duration = Duration::from_secs(15 * 60);
/// How long an answer is waited for where none came before, and where answers are quick.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const SHORTEST_WAIT: Duration = Duration::from_secs(3);
/// An answer may take this much times the usual.
const OVERDUE_FACTOR: u32 = 8;

/// What is known of a method at one endpoint.
#[derive(Debug)]
pub(crate) struct Ability {
    state: Mutex<State>,
    given_up: watch::Sender<bool>,
}

impl Default for Ability {
    fn default() -> Self {
        let (given_up, _) = watch::channel(false);
        Self { state: Mutex::default(), given_up }
    }
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    resting_until: Option<Instant>,
    /// Somebody finds out whether it works again.
    trying: bool,
    rest: Option<Duration>,
    usual: Option<Duration>,
}

/// What to do about a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Use,
    /// Go without, and try it beside: given to one caller after each rest.
    TryBeside,
    GoWithout,
}

/// How a use of the method failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The node does not offer the method.
    Missing,
    /// It failed, which may pass.
    Failed,
    /// It was not answered in time.
    Overdue,
}

impl Ability {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn choice(&self) -> Choice {
        let (mut state, now) = (self.state(), Instant::now());
        match state.resting_until {
            None => Choice::Use,
            Some(until) if until > now => Choice::GoWithout,
            Some(_) => {
                // Should the try never end, another is made after that time.
                state.resting_until = Some(now + FIRST_REST);
                state.trying = true;
                Choice::TryBeside
            }
        }
    }

    /// Whether the method is in use, as far as the past tells.
    pub(crate) fn is_used(&self) -> bool {
        self.state().resting_until.is_none()
    }

    /// Ends when the method is no longer used: those that wait for it, or for their turn to ask, go on without.
    pub(crate) async fn given_up(&self) {
        let mut given_up = self.given_up.subscribe();
        // The sender lives as long as this does.
        let _ = given_up.wait_for(|given_up| *given_up).await;
    }

    /// How long an answer is waited for.
    pub(crate) fn patience(&self) -> Duration {
        self.state().usual.map_or(FIRST_WAIT, |usual| (usual * OVERDUE_FACTOR).max(SHORTEST_WAIT))
    }

    pub(crate) fn worked(&self, took: Duration) {
        let mut state = self.state();
        let usual = state.usual.map_or(took, |usual| if took > usual { took } else { (usual * 7 + took) / 8 });
        *state = State { usual: Some(usual), ..State::default() };
        self.given_up.send_replace(false);
    }

    /// Tells whether the method is not used from now on.
    pub(crate) fn failed(&self, failure: Failure) -> bool {
        let mut state = self.state();
        state.failures += match failure {
            Failure::Missing => PATIENCE,
            Failure::Failed => 1,
            Failure::Overdue => OVERDUE,
        };
        let rests = state.failures >= PATIENCE;
        if rests {
            let rest = match failure {
                Failure::Missing => LONGEST_REST,
                _ => state.rest.map_or(FIRST_REST, |last| (last * 2).min(LONGEST_REST)),
            };
            // Those that were in flight when the rest began say nothing new.
            if state.resting_until.is_none() || state.trying {
                state.resting_until = Some(Instant::now() + rest);
                state.rest = Some(rest);
                state.trying = false;
            }
            self.given_up.send_replace(true);
        }
        rests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_keeps_failing_is_done_without_and_one_that_works_now_and_then_is_not() {
        let ability = Ability::default();
        for _ in 0..10 {
            for _ in 1..PATIENCE {
                assert!(!ability.failed(Failure::Failed));
            }
            ability.worked(Duration::from_millis(5));
        }
        assert_eq!(ability.choice(), Choice::Use);
        for _ in 1..PATIENCE {
            ability.failed(Failure::Failed);
        }
        assert!(ability.failed(Failure::Failed));
        assert_eq!(ability.choice(), Choice::GoWithout);
    }

    #[tokio::test]
    async fn those_that_wait_for_a_method_go_on_when_it_is_given_up() {
        let ability = Ability::default();
        let soon = Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, ability.given_up()).await.is_err());
        ability.failed(Failure::Missing);
        ability.given_up().await;
        ability.worked(soon);
        assert!(tokio::time::timeout(soon, ability.given_up()).await.is_err());
    }

    #[test]
    fn a_missing_method_is_done_without_at_once() {
        let ability = Ability::default();
        assert!(ability.failed(Failure::Missing));
        assert_eq!(ability.choice(), Choice::GoWithout);
    }

    #[test]
    fn after_a_rest_one_caller_tries_again() {
        let ability = Ability::default();
        ability.failed(Failure::Missing);
        ability.state().resting_until = Some(Instant::now());
        assert_eq!([ability.choice(), ability.choice()], [Choice::TryBeside, Choice::GoWithout]);
        ability.worked(Duration::from_millis(5));
        assert_eq!(ability.choice(), Choice::Use);
    }

    #[test]
    fn slow_answers_are_waited_for_longer() {
        let ability = Ability::default();
        assert_eq!(ability.patience(), FIRST_WAIT);
        ability.worked(Duration::from_millis(10));
        assert_eq!(ability.patience(), SHORTEST_WAIT);
        ability.worked(Duration::from_secs(2));
        assert_eq!(ability.patience(), Duration::from_secs(16));
    }
}
