//! What a process uses, seen from outside.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};

use super::{CompileError, CpuBudget};

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Linux counts processor time for programs in hundredths of a second, whatever its own clock does.
const TICKS_PER_SECOND: u64 = 100;

/// Compilers stand behind all else: on a machine that is busy with other things they may take so many times as long.
pub(super) const PATIENCE: u32 = 4;

/// What one compilation may use, beside what its verification has left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Of the processor. By the clock it may take a few times as long, where it does not get all of one.
    pub(super) time: Duration,
    pub(super) memory: u64,
}

enum Breach {
    Memory,
    Time,
    Budget,
}

/// Waits for what a process does, as long as it keeps within its limits, and charges its processor time. One that does
/// not is not ended here.
pub(super) async fn within<T>(
    process: u32,
    limits: Limits,
    budget: &CpuBudget,
    work: impl Future<Output = Result<T, CompileError>>,
) -> Result<T, CompileError> {
    if budget.left().is_zero() {
        return Err(budget.spent());
    }
    let meter = Meter::new(process);
    // Where processor time cannot be seen, it is taken to be all of the time.
    let time = if meter.is_blind() { limits.time.min(budget.left()) } else { limits.time * PATIENCE };
    let outcome = tokio::select! {
        done = timeout(time, work) => match done {
            Ok(done) => done,
            Err(_) if time < limits.time => Err(budget.spent()),
            Err(_) => Err(CompileError::TimedOut { limit: time }),
        },
        breach = breach(&meter, limits, budget) => Err(match breach {
            Breach::Memory => CompileError::OutOfMemory { limit: limits.memory },
            Breach::Time => CompileError::TimedOut { limit: limits.time },
            Breach::Budget => budget.spent(),
        }),
    };
    meter.charge(budget);
    outcome
}

/// Returns when the process goes beyond a limit; never where that cannot be seen.
async fn breach(meter: &Meter, limits: Limits, budget: &CpuBudget) -> Breach {
    if meter.is_blind() {
        return std::future::pending().await;
    }
    let mut used = Duration::ZERO;
    loop {
        used += meter.charge(budget);
        if budget.left().is_zero() {
            return Breach::Budget;
        }
        if used >= limits.time {
            return Breach::Time;
        }
        if resident(meter.process).is_some_and(|bytes| bytes > limits.memory) {
            return Breach::Memory;
        }
        sleep(LOOK).await;
    }
}

/// Charges what a process used since it was looked at last.
struct Meter {
    process: u32,
    began: Instant,
    /// Microseconds of processor time at the last look; None where it cannot be seen.
    seen: Option<AtomicU64>,
}

impl Meter {
    fn new(process: u32) -> Self {
        let seen = cpu_time(process).map(|used| AtomicU64::new(micros(used)));
        Self { process, began: Instant::now(), seen }
    }

    fn is_blind(&self) -> bool {
        self.seen.is_none()
    }

    fn charge(&self, budget: &CpuBudget) -> Duration {
        let used = match &self.seen {
            None => self.began.elapsed(),
            // One that has ended used what it had used at the last look, or little more.
            Some(seen) => cpu_time(self.process).map(micros).map_or(Duration::ZERO, |now| {
                Duration::from_micros(now.saturating_sub(seen.swap(now, Ordering::Relaxed)))
            }),
        };
        budget.charge(used);
        used
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Bytes that a process holds in memory.
pub(super) fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Processor time of all threads of a process.
fn cpu_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program stands in parentheses, and may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = fields.next()?.ok()? + fields.next()?.ok()?;
    Some(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::compilers::process::{Bounds, Process};

    #[tokio::test]
    async fn processor_time_is_charged_and_stops_the_work_when_it_is_spent() {
        let bounds = Bounds { cpu: Duration::from_secs(60), address_space: None };
        let script = ["-c", "while :; do :; done"];
        let (process, _stdin, _stdout) =
            Process::start(Path::new("/bin/sh"), &script, bounds, Path::new("/")).await.unwrap();
        let limits = Limits { time: Duration::from_secs(300), memory: 1 << 30 };
        let budget = CpuBudget::new(Duration::from_millis(300));
        let never = std::future::pending::<Result<(), CompileError>>();
        let error = within(process.id(), limits, &budget, never).await.unwrap_err();
        assert!(matches!(error, CompileError::BudgetSpent { .. }), "{error}");
        let next = within(process.id(), limits, &budget, async { Ok(()) }).await;
        assert!(matches!(next, Err(CompileError::BudgetSpent { .. })), "nothing is begun without a budget");

        let idle = CpuBudget::new(Duration::from_secs(10));
        let own = std::process::id();
        within(own, limits, &idle, async { Ok(()) }).await.unwrap();
        assert!(idle.left() > Duration::from_secs(9), "what was used before is not charged: {:?}", idle.left());
    }
}
