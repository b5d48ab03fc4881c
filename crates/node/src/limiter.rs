//! How many requests a node bears at once, found out by trying.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

const START: usize = 8;
/// The first of those who stand in line wait for slots together with all others, since answers come many at a time: if one
/// had to wake the next, a slot would stay empty meanwhile.
const FRONT: usize = 16;
/// Slower than this much times the usual: the node is asked for no more at once.
const RISING: f64 = 1.5;
/// Windows in a row that are so slow before it counts as the node's limit. One may be slow since this machine was busy, and
/// from the limit on growth is slow.
const RISING_WINDOWS: u32 = 2;
/// Slower than this much times the usual: the node is asked for less at once.
const STEEP: f64 = 3.0;
/// The share of the limit that is added for a window of answers once the node has shown a limit. It may have been this
/// machine that was slow: at one more for each window, a hundred more would take minutes at a distant node.
const GROWTH_SHARE: usize = 8;
/// Below this an answer is quick, whatever the usual is.
const QUICK: Duration = Duration::from_millis(50);
/// How fast the usual follows what is measured, per window, when things get slower. Blocks grow: slower is not always
/// overload.
const ADAPTATION: f64 = 0.1;

/// Doubles until the node shows for the first time what it bears. From then on an eighth more while all goes well, and half
/// when it does not.
#[derive(Debug)]
pub(crate) struct Limiter {
    slots: Arc<Semaphore>,
    /// Held by the first of those who stand in line while they wait for a slot. All others come before the rest.
    line: Semaphore,
    max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: usize,
    /// The node has never shown that it is asked for too much.
    exploring: bool,
    /// Slots to take away as they come free: the limit was cut below what was under way.
    owed: usize,
    window: Window,
    /// Seconds that an answer usually takes.
    usual: Option<f64>,
    /// Windows in a row that were slower than usual.
    rising: u32,
    last_cut: Option<Instant>,
}

#[derive(Debug, Default)]
struct Window {
    answers: usize,
    seconds: f64,
    /// Whether all slots were taken at some time: a limit that is not reached need not grow.
    full: bool,
}

/// When a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// As soon as there is a slot.
    Next,
    /// After those that came before: it is one of many that were sent for ahead of time.
    InLine,
}

/// The right to have one request under way.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    limiter: &'a Limiter,
    permit: Option<OwnedSemaphorePermit>,
    since: Instant,
    was_full: bool,
}

impl Limiter {
    pub(crate) fn new(max: usize) -> Self {
        let max = max.max(1);
        let limit = START.min(max);
        Self {
            slots: Arc::new(Semaphore::new(limit)),
            line: Semaphore::new(FRONT),
            max,
            state: Mutex::new(State {
                limit,
                exploring: true,
                owed: 0,
                window: Window::default(),
                usual: None,
                rising: 0,
                last_cut: None,
            }),
        }
    }

    /// Waits its turn, among its like first come first served.
    pub(crate) async fn slot(&self, turn: Turn) -> Slot<'_> {
        let _first_in_line = match turn {
            Turn::Next => None,
            Turn::InLine => self.line.acquire().await.ok(),
        };
        // The semaphore is never closed, so that an error cannot come; without a permit the request just goes.
        let permit = Arc::clone(&self.slots).acquire_owned().await.ok();
        Slot { limiter: self, permit, since: Instant::now(), was_full: self.slots.available_permits() == 0 }
    }

    pub(crate) fn limit(&self) -> usize {
        self.state().limit
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, took: Duration, was_full: bool) {
        let mut state = self.state();
        state.window.answers += 1;
        state.window.seconds += took.as_secs_f64();
        state.window.full |= was_full;
        if state.window.answers < state.limit {
            return;
        }
        let window = std::mem::take(&mut state.window);
        #[allow(clippy::cast_precision_loss, reason = "a window has at most some hundred answers")]
        let mean = window.seconds / window.answers as f64;
        let usual = state.usual.unwrap_or(mean);
        state.usual = Some(if mean < usual { mean } else { usual + (mean - usual) * ADAPTATION });
        let slow = mean > QUICK.as_secs_f64();
        let is_rising = slow && mean > usual * RISING;
        state.rising = if is_rising { state.rising + 1 } else { 0 };
        if slow && mean > usual * STEEP {
            self.cut(&mut state);
        } else if is_rising {
            state.exploring &= state.rising < RISING_WINDOWS;
        } else if window.full {
            self.grow(&mut state);
        }
    }

    fn grow(&self, state: &mut State) {
        let wanted = if state.exploring { state.limit } else { (state.limit / GROWTH_SHARE).max(1) };
        let more = wanted.min(self.max - state.limit);
        state.limit += more;
        let paid_back = state.owed.min(more);
        state.owed -= paid_back;
        self.slots.add_permits(more - paid_back);
    }

    /// The node wanted less of a request that was sent at that time.
    pub(crate) fn overloaded(&self, since: Instant) {
        let mut state = self.state();
        // What was sent before the last cut says nothing about the limit since.
        if state.last_cut.is_none_or(|cut| since >= cut) {
            self.cut(&mut state);
        }
    }

    fn cut(&self, state: &mut State) {
        let limit = (state.limit / 2).max(1);
        let surplus = state.limit - limit;
        state.limit = limit;
        state.exploring = false;
        state.owed += surplus - self.slots.forget_permits(surplus);
        state.window = Window::default();
        state.last_cut = Some(Instant::now());
    }
}

impl Slot<'_> {
    /// When it was this request's turn.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// The node answered in time.
    pub(crate) fn answered(self) {
        self.limiter.answered(self.since.elapsed(), self.was_full);
    }

    /// The node wants less, or did not answer in time.
    pub(crate) fn overloaded(self) {
        self.limiter.overloaded(self.since);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        if let Some(owed) = state.owed.checked_sub(1) {
            state.owed = owed;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fill(limiter: &Limiter) -> Vec<Slot<'_>> {
        let mut slots = Vec::new();
        while limiter.slots.available_permits() > 0 {
            slots.push(limiter.slot(Turn::Next).await);
        }
        slots
    }

    #[tokio::test]
    async fn it_doubles_until_the_node_wants_less_and_then_grows_by_an_eighth_for_a_window_of_answers() {
        let limiter = Limiter::new(128);
        assert_eq!(limiter.limit(), 8);
        for expected in [16, 32, 64] {
            fill(&limiter).await.into_iter().for_each(Slot::answered);
            assert_eq!(limiter.limit(), expected);
        }
        limiter.slot(Turn::Next).await.overloaded();
        for expected in [36, 40, 45, 50] {
            fill(&limiter).await.into_iter().for_each(Slot::answered);
            assert_eq!(limiter.limit(), expected);
        }
    }

    #[tokio::test]
    async fn who_wants_to_be_next_passes_all_in_line_but_the_first() {
        let limiter = Limiter::new(1);
        let sent = Mutex::new(Vec::new());
        let send = async |turn, name: usize| {
            let slot = limiter.slot(turn).await;
            sent.lock().unwrap().push(name);
            tokio::task::yield_now().await;
            slot.answered();
        };
        let line = futures::future::join_all((0..100).map(|name| send(Turn::InLine, name)));
        tokio::join!(line, send(Turn::Next, 1_000));
        let sent = sent.into_inner().unwrap();
        // The one that has the slot already is not in line any more.
        assert_eq!(sent.iter().position(|name| *name == 1_000), Some(FRONT + 1), "{sent:?}");
        assert!(sent.iter().filter(|name| **name < 1_000).is_sorted(), "{sent:?}");
    }

    #[tokio::test]
    async fn it_does_not_grow_unused_nor_beyond_its_cap() {
        let limiter = Limiter::new(128);
        for _ in 0..100 {
            limiter.slot(Turn::Next).await.answered();
        }
        assert_eq!(limiter.limit(), 8);
        let capped = Limiter::new(3);
        for _ in 0..10 {
            fill(&capped).await.into_iter().for_each(Slot::answered);
        }
        assert_eq!(capped.limit(), 3);
    }

    #[tokio::test]
    async fn it_halves_once_for_all_that_was_under_way_and_never_below_one() {
        let limiter = Limiter::new(128);
        fill(&limiter).await.into_iter().for_each(Slot::overloaded);
        assert_eq!(limiter.limit(), 4);
        for _ in 0..5 {
            limiter.slot(Turn::Next).await.overloaded();
        }
        assert_eq!(limiter.limit(), 1);
        assert_eq!(limiter.slots.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_cut_is_paid_by_the_requests_under_way() {
        let limiter = Limiter::new(128);
        let mut slots = fill(&limiter).await;
        slots.pop().unwrap().overloaded();
        assert_eq!(limiter.slots.available_permits(), 0);
        drop(slots);
        assert_eq!(limiter.slots.available_permits(), 4);
    }

    #[test]
    fn steeply_rising_latency_halves_it_and_a_mild_rise_holds_it() {
        let limiter = Limiter::new(128);
        let window = |millis, limiter: &Limiter| {
            for _ in 0..limiter.limit() {
                limiter.answered(Duration::from_millis(millis), true);
            }
            limiter.limit()
        };
        assert_eq!(window(60, &limiter), 16);
        // Once may be chance.
        assert_eq!(window(100, &limiter), 16);
        assert_eq!(window(60, &limiter), 32);
        assert_eq!(window(100, &limiter), 32);
        assert_eq!(window(105, &limiter), 32);
        // It has met a limit, and doubles no more.
        assert_eq!(window(60, &limiter), 36);
        assert_eq!(window(400, &limiter), 18);
    }

    #[tokio::test]
    async fn it_recovers_after_a_cut() {
        let limiter = Limiter::new(16);
        fill(&limiter).await.into_iter().for_each(Slot::overloaded);
        for _ in 0..20 {
            fill(&limiter).await.into_iter().for_each(Slot::answered);
        }
        assert_eq!(limiter.limit(), 16);
        assert_eq!(limiter.slots.available_permits(), 16);
    }
}
