use std::{
    fs,
    time::{Duration, Instant},
};

/// Counts the time in which nothing on this machine waited for a processor or a disk. On a machine that has other work, all
/// takes longer, and no test must fail for it. Linux counts such waits; elsewhere all time counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    started: Instant,
    stalled: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), stalled: stalled() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let stalled = stalled().saturating_sub(self.stalled);
        self.started.elapsed().saturating_sub(stalled)
    }

    /// The time since the start, also that in which something waited.
    pub(crate) fn whole(&self) -> Duration {
        self.started.elapsed()
    }

    #[track_caller]
    pub(crate) fn assert_within(&self, seconds: u64) {
        let (elapsed, whole) = (self.elapsed(), self.whole());
        assert!(elapsed < Duration::from_secs(seconds), "{elapsed:?} of {whole:?}, instead of {seconds} s");
    }
}

/// Since the start of the machine.
fn stalled() -> Duration {
    let pressures = ["cpu", "io"].map(|resource| fs::read_to_string(format!("/proc/pressure/{resource}")));
    pressures.into_iter().flatten().map(|pressure| some(&pressure)).sum()
}

/// The time in which at least one task waited, as in `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
fn some(pressure: &str) -> Duration {
    let line = pressure.lines().find_map(|line| line.strip_prefix("some "));
    let total = line.and_then(|line| line.split_once("total=")?.1.trim().parse().ok());
    Duration::from_micros(total.unwrap_or_default())
}

#[test]
fn waits_for_processors_and_disks_are_not_counted() {
    let pressure =
        "some avg10=5.02 avg60=11.58 avg300=22.33 total=149491916\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n";
    assert_eq!(some(pressure), Duration::from_micros(149_491_916));
    assert_eq!(some("full avg10=0.00 total=3\n"), Duration::ZERO);
    let watch = Stopwatch { started: Instant::now() - Duration::from_secs(5), stalled: stalled() };
    assert!(watch.whole() >= Duration::from_secs(5) && watch.elapsed() <= watch.whole());
}
