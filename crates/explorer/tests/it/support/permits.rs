//! Which tests run beside which, and in which order. Most tests wait most of the time, so `./test` runs many at once; those that
//! need the processors or measure time take a permit at their beginning and keep it until they end.
//!
//! A test belongs to one of these classes:
//! - an ordinary test takes nothing: starting a node, a chain, a database or a process counts it as running
//! - [`busy`]: it keeps a processor busy (compilers, browsers, nodes in JavaScript, long chains). Few of them run at once.
//! - [`timely`]: it fails if it is slow, so no busy test runs beside it, but others of its kind do
//! - [`alone`]: it measures rates or delays, so no other test runs beside it
//!
//! There is no deadlock: the turn comes before the processors, the places that wait for processors have a turn already, and who
//! has processors never waits for a turn. What tests share is made by a test that has a turn, and processors if it takes some: those
//! that wait for it may have all others.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    thread::{self, Thread},
    time::Instant,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::times::{Place, Timed};

/// Making and indexing a chain with this many transactions keeps a processor busy.
pub(crate) const LONG_CHAIN: u64 = 300;

/// How many ordinary tests run at once, unless the environment says otherwise.
const AT_ONCE: usize = 12;
const VARIABLE: &str = "EXPLORER_TEST_THREADS";

static TURNS: LazyLock<Turns> = LazyLock::new(|| {
    let chosen = std::env::var(VARIABLE).ok().map(|text| text.parse().expect(VARIABLE));
    Turns::new(chosen.unwrap_or(AT_ONCE))
});
/// Busy tests also wait at times: more of them than there are processors.
static PROCESSORS: LazyLock<(u32, Semaphore)> = LazyLock::new(|| {
    let permits = 2 + thread::available_parallelism().map_or(2, usize::from);
    (u32::try_from(permits).unwrap(), Semaphore::new(permits))
});
/// All processors, which timely tests have together.
static TOGETHER: tokio::sync::Mutex<Weak<SemaphorePermit<'static>>> = tokio::sync::Mutex::const_new(Weak::new());

thread_local! {
    /// What the test of this thread holds. libtest runs each test on a thread of its own, which ends with the test.
    static HELD: RefCell<Held> = const { RefCell::new(Held { processors: None, turn: None, timed: None }) };
}

struct Held {
    processors: Option<Processors>,
    turn: Option<Turn<'static>>,
    timed: Option<Timed>,
}

enum Processors {
    One { _permit: SemaphorePermit<'static> },
    All { _permit: Arc<SemaphorePermit<'static>> },
}

/// The test of this thread; None on the threads of runtimes, whose test has the permits. With one test thread, libtest runs all
/// tests on its main thread, one after the other, and no permit is needed.
fn test_name() -> Option<String> {
    thread::current().name().filter(|name| name.contains("::")).map(str::to_owned)
}

/// An ordinary test runs from now on. Called by everything that starts a node or a process.
pub(crate) fn enter() {
    if let Some(name) = test_name()
        && HELD.with_borrow(|held| held.turn.is_none())
    {
        let turn = TURNS.beside_others(Place::of(&name));
        HELD.with_borrow_mut(|held| {
            held.turn = Some(turn);
            held.timed = Some(Timed::start(name));
        });
    }
}

/// No other test runs until this one ends.
pub(crate) fn alone() {
    if let Some(name) = test_name() {
        // Its own turn beside others would be waited for.
        HELD.with_borrow_mut(|held| *held = Held { processors: None, turn: None, timed: None });
        let turn = TURNS.alone();
        HELD.with_borrow_mut(|held| {
            held.turn = Some(turn);
            held.timed = Some(Timed::start(name));
        });
    }
}

/// This test keeps a processor busy.
pub(crate) async fn busy() {
    let one = async { Processors::One { _permit: PROCESSORS.1.acquire().await.unwrap() } };
    acquire_processors(one, |_| true).await;
}

/// No test that keeps a processor busy runs until this one ends.
pub(crate) async fn timely() {
    let all = async {
        let mut together = TOGETHER.lock().await;
        if let Some(permit) = together.upgrade() {
            return Processors::All { _permit: permit };
        }
        let permit = Arc::new(PROCESSORS.1.acquire_many(PROCESSORS.0).await.unwrap());
        *together = Arc::downgrade(&permit);
        Processors::All { _permit: permit }
    };
    acquire_processors(all, |held| matches!(held, Processors::All { .. })).await;
}

async fn acquire_processors(acquired: impl Future<Output = Processors>, are_enough: impl Fn(&Processors) -> bool) {
    enter();
    let has_enough = || {
        HELD.with_borrow(|held| {
            held.turn.as_ref().is_none_or(|turn| turn.is_alone) || held.processors.as_ref().is_some_and(&are_enough)
        })
    };
    if has_enough() {
        return;
    }
    // Waiting for more while holding some would be a deadlock of two tests.
    HELD.with_borrow_mut(|held| held.processors = None);
    let (idle, began, mut acquired) = (Idle::begin(&TURNS), Instant::now(), pin!(acquired));
    // Another future of this test may have them by now.
    let processors = poll_fn(|context| match has_enough() {
        true => Poll::Ready(None),
        false => acquired.as_mut().poll(context).map(Some),
    });
    let processors = processors.await;
    drop(idle);
    HELD.with_borrow_mut(|held| {
        if processors.is_some() {
            held.processors = processors;
        }
        held.timed.iter_mut().for_each(|timed| timed.add_wait(began.elapsed()));
    });
}

/// A test that waits for processors, which makes room for another one.
struct Idle<'a>(&'a Turns);

impl<'a> Idle<'a> {
    fn begin(turns: &'a Turns) -> Self {
        let mut running = turns.lock();
        running.idle += 1;
        running.admit(turns.at_once);
        drop(running);
        Self(turns)
    }
}

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.lock().idle -= 1;
    }
}

/// Lets many tests run beside each other, those that take longest first, or one alone.
struct Turns {
    at_once: usize,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    /// Tests that have begun beside others.
    begun: usize,
    /// Those of them that wait for processors.
    idle: usize,
    alone: bool,
    waiting: BTreeMap<Place, Arc<Waiter>>,
    waiting_alone: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    thread: Thread,
    is_admitted: AtomicBool,
}

impl Waiter {
    fn admit(&self) {
        self.is_admitted.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl Running {
    fn admit(&mut self, at_once: usize) {
        while !self.alone {
            if self.begun == 0
                && let Some(waiter) = self.waiting_alone.pop_front()
            {
                self.alone = true;
                waiter.admit();
            } else if self.has_room(at_once)
                && let Some((_, waiter)) = self.waiting.pop_first()
            {
                self.begun += 1;
                waiter.admit();
            } else {
                return;
            }
        }
    }

    /// Until the others have ended, the machine idles more and more: tests that run alone wait for each other, and then
    /// take their turns in a row.
    fn has_room(&self, at_once: usize) -> bool {
        let alone = self.waiting_alone.len();
        self.begun.saturating_sub(self.idle) < at_once && (alone == 0 || self.begun > 3 * alone)
    }
}

struct Turn<'a> {
    turns: &'a Turns,
    is_alone: bool,
}

impl Turns {
    fn new(at_once: usize) -> Self {
        Self { at_once, running: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, queue: impl FnOnce(&mut Running, Arc<Waiter>)) {
        let waiter = Arc::new(Waiter { thread: thread::current(), is_admitted: AtomicBool::new(false) });
        let mut running = self.lock();
        queue(&mut running, Arc::clone(&waiter));
        running.admit(self.at_once);
        drop(running);
        while !waiter.is_admitted.load(Ordering::Acquire) {
            thread::park();
        }
    }

    fn beside_others(&self, place: Place) -> Turn<'_> {
        self.wait(|running, waiter| {
            assert!(running.waiting.insert(place, waiter).is_none(), "two tests have one place")
        });
        Turn { turns: self, is_alone: false }
    }

    fn alone(&self) -> Turn<'_> {
        self.wait(|running, waiter| running.waiting_alone.push_back(waiter));
        Turn { turns: self, is_alone: true }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut running = self.turns.lock();
        if self.is_alone {
            running.alone = false;
        } else {
            running.begun -= 1;
        }
        running.admit(self.turns.at_once);
    }
}

#[test]
fn a_test_alone_waits_for_the_others_and_has_no_others_beside_it() {
    use std::{
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        time::Duration,
    };
    const AT_ONCE: usize = 8;
    let (turns, others, lone) = (Turns::new(AT_ONCE), AtomicUsize::new(0), AtomicUsize::new(0));
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
                    let _turn = turns.beside_others(Place::of(&number.to_string()));
                    assert!(others.fetch_add(1, SeqCst) < AT_ONCE);
                    assert_eq!(lone.load(SeqCst), 0);
                    pause();
                    others.fetch_sub(1, SeqCst);
                }
            });
        }
    });
    let running = turns.lock();
    assert_eq!((running.begun, running.idle, running.alone), (0, 0, false));
    assert!(running.waiting.is_empty() && running.waiting_alone.is_empty());
}

#[test]
fn those_that_take_longest_begin_first() {
    let turns = Turns::new(1);
    let begun = Mutex::new(Vec::new());
    let first = turns.beside_others(Place::of("the first"));
    thread::scope(|scope| {
        for seconds in [3, 9, 0, 7] {
            let (turns, begun) = (&turns, &begun);
            scope.spawn(move || {
                let _turn = turns.beside_others(Place::taking(seconds));
                begun.lock().unwrap().push(seconds);
            });
        }
        while turns.lock().waiting.len() < 4 {
            thread::yield_now();
        }
        drop(first);
    });
    assert_eq!(*begun.lock().unwrap(), [9, 7, 3, 0]);
}
