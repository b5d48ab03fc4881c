//! Measures the CPU time and memory of a process and of those that it has started, and enforces limits on them.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};

use super::{CompileError, CpuBudget};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The unit of CPU time in /proc (USER_HZ) is always 1/100 s.
const TICKS_PER_SECOND: u64 = 100;

/// Wall-clock limit as a multiple of the CPU limit: compilers run at low priority and may have to wait.
pub(super) const WALL_CLOCK_FACTOR: u32 = 4;

/// Limits of one compilation, in addition to the CPU budget of its verification.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// CPU time.
    pub(super) time: Duration,
    pub(super) memory: u64,
}

enum Exceeded {
    Memory,
    Time,
    Budget,
}

/// Waits for the work of a process and charges its CPU time; returns an error when it exceeds a limit. The caller kills
/// the process.
pub(super) async fn run_within_limits<T>(
    process: u32,
    limits: Limits,
    budget: &CpuBudget,
    work: impl Future<Output = Result<T, CompileError>>,
) -> Result<T, CompileError> {
    if budget.left().is_zero() {
        return Err(budget.exhausted());
    }
    let meter = Meter::new(process);
    // Where CPU time cannot be measured, wall-clock time counts.
    let time = if meter.cannot_measure() { limits.time.min(budget.left()) } else { limits.time * WALL_CLOCK_FACTOR };
    let outcome = tokio::select! {
        done = timeout(time, work) => match done {
            Ok(done) => done,
            Err(_) if time < limits.time => Err(budget.exhausted()),
            Err(_) => Err(CompileError::TimedOut { limit: time }),
        },
        exceeded = exceeded_limit(&meter, limits, budget) => Err(match exceeded {
            Exceeded::Memory => CompileError::OutOfMemory { limit: limits.memory },
            Exceeded::Time => CompileError::TimedOut { limit: limits.time },
            Exceeded::Budget => budget.exhausted(),
        }),
    };
    meter.charge(budget);
    outcome
}

/// Returns when the process exceeds a limit; never if usage cannot be measured.
async fn exceeded_limit(meter: &Meter, limits: Limits, budget: &CpuBudget) -> Exceeded {
    if meter.cannot_measure() {
        return std::future::pending().await;
    }
    let mut used = Duration::ZERO;
    loop {
        used += meter.charge(budget);
        if budget.left().is_zero() {
            return Exceeded::Budget;
        }
        if used >= limits.time {
            return Exceeded::Time;
        }
        if resident_bytes(meter.process).is_some_and(|bytes| bytes > limits.memory) {
            return Exceeded::Memory;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Charges the CPU time that a process used since the last poll.
struct Meter {
    process: u32,
    began: Instant,
    /// Microseconds of CPU time at the last poll; None if it cannot be measured.
    last_reading: Option<AtomicU64>,
}

impl Meter {
    fn new(process: u32) -> Self {
        let last_reading = cpu_time(process).map(|used| AtomicU64::new(micros(used)));
        Self { process, began: Instant::now(), last_reading }
    }

    fn cannot_measure(&self) -> bool {
        self.last_reading.is_none()
    }

    fn charge(&self, budget: &CpuBudget) -> Duration {
        let used = match &self.last_reading {
            None => self.began.elapsed(),
            // A process that has exited used little more than at the last poll.
            Some(last_reading) => cpu_time(self.process).map(micros).map_or(Duration::ZERO, |now| {
                Duration::from_micros(now.saturating_sub(last_reading.swap(now, Ordering::Relaxed)))
            }),
        };
        budget.charge(used);
        used
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Resident memory of a process and its children in bytes.
pub(super) fn resident_bytes(process: u32) -> Option<u64> {
    let own = own_resident_bytes(process)?;
    Some(own + descendants(process).into_iter().filter_map(own_resident_bytes).sum::<u64>())
}

fn own_resident_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// CPU time of all threads of a process and of its children.
fn cpu_time(process: u32) -> Option<Duration> {
    let own = ticks(process)?;
    let ticks = own + descendants(process).into_iter().filter_map(ticks).sum::<u64>();
    Some(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

/// CPU time of a process, with that of its children that have ended.
fn ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program name is in parentheses and may contain any character.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_ascii_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().ok()).sum()
}

/// The running children of a process and theirs.
fn descendants(process: u32) -> Vec<u32> {
    /// More than any compiler starts.
    const MAX: usize = 64;
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied().filter(|_| found.len() < MAX) {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        found.extend(children.split_ascii_whitespace().filter_map(|id| id.parse::<u32>().ok()));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::compilers::process::{Bounds, Process};

    #[tokio::test]
    async fn cpu_time_of_a_child_process_is_charged() {
        let bounds = Bounds { cpu: Duration::from_secs(60), address_space: None };
        let script = ["-c", "sh -c 'while :; do :; done'; echo"];
        let (process, _stdin, _stdout) =
            Process::start(Path::new("/bin/sh"), &script, bounds, Path::new("/")).await.unwrap();
        let limits = Limits { time: Duration::from_secs(300), memory: 1 << 30 };
        let budget = CpuBudget::new(Duration::from_millis(200));
        let never = std::future::pending::<Result<(), CompileError>>();
        let error = run_within_limits(process.id(), limits, &budget, never).await.unwrap_err();
        assert!(matches!(error, CompileError::BudgetExhausted { .. }), "{error}");
        assert!(resident_bytes(process.id()) > own_resident_bytes(process.id()));
    }

    #[tokio::test]
    async fn cpu_time_is_charged_and_work_stops_when_the_budget_is_exhausted() {
        let bounds = Bounds { cpu: Duration::from_secs(60), address_space: None };
        let script = ["-c", "while :; do :; done"];
        let (process, _stdin, _stdout) =
            Process::start(Path::new("/bin/sh"), &script, bounds, Path::new("/")).await.unwrap();
        let limits = Limits { time: Duration::from_secs(300), memory: 1 << 30 };
        let budget = CpuBudget::new(Duration::from_millis(300));
        let never = std::future::pending::<Result<(), CompileError>>();
        let error = run_within_limits(process.id(), limits, &budget, never).await.unwrap_err();
        assert!(matches!(error, CompileError::BudgetExhausted { .. }), "{error}");
        let next = run_within_limits(process.id(), limits, &budget, async { Ok(()) }).await;
        assert!(matches!(next, Err(CompileError::BudgetExhausted { .. })), "nothing starts without a budget");

        let idle = CpuBudget::new(Duration::from_secs(10));
        let own = std::process::id();
        run_within_limits(own, limits, &idle, async { Ok(()) }).await.unwrap();
        assert!(idle.left() > Duration::from_secs(9), "earlier CPU time is not charged: {:?}", idle.left());
    }
}
