//! Which tests run beside which. Most tests wait most of the time, so `./test` runs many at once; those that need the
//! processors or measure time take a permit at their beginning and keep it until they end.
//!
//! A test belongs to one of these classes:
//! - an ordinary test takes nothing: starting a node or a process counts it as running
//! - [`busy`]: it keeps a processor busy (compilers, browsers, nodes in JavaScript, long chains). Few of them run at once.
//! - [`timely`]: it fails if it is slow, so no busy test runs beside it
//! - [`alone`]: it measures rates or delays, so no other test runs beside it
//!
//! There is no deadlock: the turn comes before the processors, the one place that waits for processors has its turn already,
//! and who has processors never waits for a turn.

use std::{
    cell::RefCell,
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Making and indexing a chain with this many transactions keeps a processor busy.
pub(crate) const LONG_CHAIN: u64 = 300;

static TURNS: Turns = Turns::new();
/// Busy tests also wait at times: more of them than there are processors.
static PROCESSORS: LazyLock<(u32, Semaphore)> = LazyLock::new(|| {
    let permits = 2 + thread::available_parallelism().map_or(2, usize::from);
    (u32::try_from(permits).unwrap(), Semaphore::new(permits))
});

thread_local! {
    /// What the test of this thread holds. libtest runs each test on a thread of its own, which ends with the test.
    static HELD: RefCell<Held> = const { RefCell::new(Held { processors: None, turn: None }) };
}

struct Held {
    processors: Option<SemaphorePermit<'static>>,
    turn: Option<Turn<'static>>,
}

/// Whether this thread runs a test. Those of runtimes do not: their test has the permits. With one test thread, libtest
/// runs all tests on its main thread, one after the other, and no permit is needed.
fn is_test_thread() -> bool {
    thread::current().name().is_some_and(|name| name.contains("::"))
}

/// An ordinary test runs from now on. Called by everything that starts a node or a process.
pub(crate) fn enter() {
    if is_test_thread() && HELD.with_borrow(|held| held.turn.is_none()) {
        let turn = TURNS.beside_others();
        HELD.with_borrow_mut(|held| held.turn = Some(turn));
    }
}

/// No other test runs until this one ends.
pub(crate) fn alone() {
    if is_test_thread() {
        // Its own turn beside others would be waited for.
        HELD.with_borrow_mut(|held| *held = Held { processors: None, turn: None });
        let turn = TURNS.alone();
        HELD.with_borrow_mut(|held| held.turn = Some(turn));
    }
}

/// This test keeps a processor busy.
pub(crate) async fn busy() {
    acquire_processors(1).await;
}

/// No test that keeps a processor busy runs until this one ends.
pub(crate) async fn timely() {
    acquire_processors(PROCESSORS.0).await;
}

async fn acquire_processors(count: u32) {
    if !is_test_thread() {
        return;
    }
    enter();
    let has_enough = HELD.with_borrow_mut(|held| {
        let is_alone = held.turn.as_ref().is_some_and(|turn| turn.is_alone);
        let has_enough =
            is_alone || held.processors.as_ref().is_some_and(|permit| permit.num_permits() >= count as usize);
        if !has_enough {
            // Waiting for more while holding some would be a deadlock of two tests.
            held.processors = None;
        }
        has_enough
    });
    if !has_enough {
        let permit = PROCESSORS.1.acquire_many(count).await.unwrap();
        HELD.with_borrow_mut(|held| held.processors = Some(permit));
    }
}

/// Lets many tests run beside each other, or one alone.
struct Turns {
    running: Mutex<Running>,
    changed: Condvar,
}

struct Running {
    beside_others: usize,
    alone: bool,
    /// Tests that wait for a turn alone.
    waiting: usize,
}

impl Running {
    /// Until the others have ended, the machine idles more and more: tests that run alone wait for each other, and then
    /// take their turns in a row.
    fn admits_others(&self) -> bool {
        !self.alone && (self.waiting == 0 || self.beside_others > 3 * self.waiting)
    }
}

struct Turn<'a> {
    turns: &'a Turns,
    is_alone: bool,
}

impl Turns {
    const fn new() -> Self {
        let running = Running { beside_others: 0, alone: false, waiting: 0 };
        Self { running: Mutex::new(running), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, mut condition: impl FnMut(&Running) -> bool) -> MutexGuard<'_, Running> {
        let waited = self.changed.wait_while(self.lock(), |running| condition(running));
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn beside_others(&self) -> Turn<'_> {
        let mut running = self.wait_while(|running| !running.admits_others());
        running.beside_others += 1;
        Turn { turns: self, is_alone: false }
    }

    fn alone(&self) -> Turn<'_> {
        self.lock().waiting += 1;
        let mut running = self.wait_while(|running| running.alone || running.beside_others > 0);
        running.waiting -= 1;
        running.alone = true;
        Turn { turns: self, is_alone: true }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut running = self.turns.lock();
        if self.is_alone {
            running.alone = false;
        } else {
            running.beside_others -= 1;
        }
        self.turns.changed.notify_all();
    }
}

#[test]
fn a_test_alone_waits_for_the_others_and_has_no_others_beside_it() {
    use std::{
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        time::Duration,
    };
    let (turns, others, lone) = (Turns::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    let pause = || thread::sleep(Duration::from_millis(2));
    thread::scope(|scope| {
        for number in 0..60 {
            let (turns, others, lone) = (&turns, &others, &lone);
            scope.spawn(move || {
                if number % 6 == 0 {
                    let _turn = turns.alone();
                    assert_eq!((others.load(SeqCst), lone.fetch_add(1, SeqCst)), (0, 0));
                    pause();
                    assert_eq!((others.load(SeqCst), lone.fetch_sub(1, SeqCst)), (0, 1));
                } else {
                    let _turn = turns.beside_others();
                    others.fetch_add(1, SeqCst);
                    assert_eq!(lone.load(SeqCst), 0);
                    pause();
                    others.fetch_sub(1, SeqCst);
                }
            });
        }
    });
    let running = turns.lock();
    assert_eq!((running.beside_others, running.alone, running.waiting), (0, false, 0));
}
