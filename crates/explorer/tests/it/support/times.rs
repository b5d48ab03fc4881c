//! How long each test takes.
//!
//! `EXPLORER_TEST_TIMES=file` appends a line for each test that runs, in seconds without the time in which it waits for its turn.
//! `longest.txt` has those that took longest, from such a file: they begin first, so that none of them runs on alone at the end.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    fs,
    io::Write,
    panic,
    sync::{
        LazyLock, Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const VARIABLE: &str = "EXPLORER_TEST_TIMES";
/// Longer than any test takes on an idle machine.
const SUSPICIOUS: Duration = Duration::from_secs(300);

/// Seconds by name.
static LONGEST: LazyLock<HashMap<&str, u64>> = LazyLock::new(|| {
    let lines = include_str!("longest.txt").lines().map(|line| line.split_once(' ').expect("seconds and a name"));
    lines.map(|(seconds, name)| (name, seconds.parse().expect("seconds"))).collect()
});
static RUNNING: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// The place of a test in the queue: those that take longest are first, then those that came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    seconds: Reverse<u64>,
    number: u64,
}

impl Place {
    pub(super) fn of(name: &str) -> Self {
        Self::taking(LONGEST.get(name).copied().unwrap_or_default())
    }

    pub(super) fn taking(seconds: u64) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self { seconds: Reverse(seconds), number: NUMBERS.fetch_add(1, Ordering::Relaxed) }
    }
}

/// A running test.
#[derive(Debug)]
pub(super) struct Timed {
    name: String,
    begun: Instant,
    waited: Duration,
}

impl Timed {
    pub(super) fn start(name: String) -> Self {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            drop(thread::spawn(name_those_that_hang));
            show_failures_at_once();
        });
        running().insert(name.clone(), Instant::now());
        Self { name, begun: Instant::now(), waited: Duration::ZERO }
    }

    pub(super) fn add_wait(&mut self, waited: Duration) {
        self.waited += waited;
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        running().remove(&self.name);
        let Some(path) = std::env::var_os(VARIABLE) else { return };
        let line = format!("{:.1} {}\n", (self.begun.elapsed() - self.waited).as_secs_f64(), self.name);
        let written = fs::OpenOptions::new().create(true).append(true).open(path);
        written.and_then(|mut file| file.write_all(line.as_bytes())).expect(VARIABLE);
    }
}

fn running() -> MutexGuard<'static, BTreeMap<String, Instant>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// libtest shows why tests failed when all have ended, which a program that is stopped never does.
fn show_failures_at_once() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |failure| {
        // Not captured.
        let _ = writeln!(std::io::stderr(), "{}: {failure}", thread::current().name().unwrap_or("a task"));
        hook(failure);
    }));
}

/// libtest names all tests that wait for their turn as well.
fn name_those_that_hang() {
    loop {
        thread::sleep(Duration::from_secs(60));
        for (name, begun) in &*running() {
            if begun.elapsed() > SUSPICIOUS {
                // Not captured.
                let _ = writeln!(std::io::stderr(), "{name} has been running for {} s", begun.elapsed().as_secs());
            }
        }
    }
}

#[test]
fn the_tests_that_take_longest_exist() {
    let output = std::process::Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let exists = |name: &str| listed.lines().any(|line| line.strip_suffix(": test") == Some(name));
    let unknown: Vec<_> = LONGEST.keys().filter(|name| !exists(name)).collect();
    assert!(!LONGEST.is_empty() && unknown.is_empty(), "longest.txt has {unknown:?}");
}
