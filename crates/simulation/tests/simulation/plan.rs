//! Everything that a seed decides in advance.

use std::time::Duration;

use rand::{Rng, rngs::StdRng};

use crate::chance::Chance;

/// Maximum depth of a reorg, and the number of blocks that can be reverted.
pub(crate) const MAX_REORG_DEPTH: u64 = 16;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) chance: Chance,
    /// Actions on the chain and at the webhook registry, in order.
    pub(crate) actions: Vec<(Duration, Action)>,
    /// The behaviour of each endpoint over time.
    pub(crate) endpoints: Vec<Schedule<NodeMode>>,
    /// The behaviour of each receiver over time; each webhook has its own.
    pub(crate) receivers: Vec<Schedule<ReceiverMode>>,
    /// One per process except the last.
    pub(crate) crashes: Vec<Crash>,
    /// No faults from this time on.
    pub(crate) faults_end: Duration,
    pub(crate) is_dev_chain: bool,
    /// If small, tables are flushed all the time.
    pub(crate) write_buffer_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    Mine {
        transactions: usize,
    },
    Reorg {
        depth: u64,
        blocks: u64,
        replay: bool,
    },
    Register {
        receiver: usize,
    },
    /// Checks the newest indexed blocks against the chain.
    SpotCheck,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeMode {
    Honest,
    /// Some requests get an error, a closed connection or a truncated response.
    Flaky,
    /// Some requests get a well-formed response with false data.
    FalseData,
    /// This many blocks behind the head.
    Lagging(u64),
    /// Serves the branch that the last reorg orphaned.
    OrphanedBranch,
    /// Never responds.
    Silent,
    /// Accepts this many requests per second.
    Limited(u32),
    Down,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiverMode {
    Healthy,
    /// Some messages are refused, get no response, or are accepted without a response.
    Flaky,
    Down,
}

#[derive(Debug)]
pub(crate) struct Schedule<T>(Vec<(Duration, T)>);

impl<T: Copy> Schedule<T> {
    pub(crate) fn at(&self, time: Duration) -> Option<T> {
        self.0.iter().find(|(until, _)| time < *until).map(|(_, mode)| *mode)
    }
}

/// How a process crashes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crash {
    /// The number of the write to the store, from 1, at which it crashes.
    pub(crate) at_write: u64,
    pub(crate) moment: Moment,
    pub(crate) disk: DiskFault,
    /// Time until the next start.
    pub(crate) downtime: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    /// The write is complete, but its caller does not get the result.
    After,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskFault {
    /// The process is killed: all its writes are on the disk.
    Intact,
    /// An incomplete commit at the end of the journal.
    TornWrite,
    /// Power loss: some of the data that was not synced is missing.
    PowerLoss,
}

impl Plan {
    pub(crate) fn new(seed: u64) -> Self {
        let chance = Chance::new(seed);
        let mut rng = chance.of("plan").rng();
        let steps = rng.random_range(14..40);
        let faults_end = Duration::from_secs(rng.random_range(20..90));
        let actions = actions(&mut rng, steps, faults_end);
        let receivers = actions.iter().filter(|(_, action)| matches!(action, Action::Register { .. })).count();
        let has_faulty_nodes = rng.random_bool(0.9);
        let endpoints = (0..rng.random_range(1..=3))
            .map(|_| {
                schedule(&mut rng, faults_end, |rng| if has_faulty_nodes { node_mode(rng) } else { NodeMode::Honest })
            })
            .collect();
        let receivers = (0..receivers).map(|_| schedule(&mut rng, faults_end, receiver_mode)).collect();
        let crashes = (0..[0, 0, 1, 1, 2, 3][rng.random_range(0..6)]).map(|_| crash(&mut rng)).collect();
        Self {
            seed,
            chance,
            actions,
            endpoints,
            receivers,
            crashes,
            faults_end,
            is_dev_chain: rng.random_bool(0.3),
            write_buffer_bytes: if rng.random_bool(0.3) { 100 << 10 } else { 64 << 20 },
        }
    }
}

fn actions(rng: &mut StdRng, steps: u32, end: Duration) -> Vec<(Duration, Action)> {
    let mut actions: Vec<(Duration, Action)> = (0..steps)
        .map(|_| {
            let at = end.mul_f64(rng.random_range(0.0..1.0));
            let action = match rng.random_range(0..10) {
                0..7 => Action::Mine { transactions: rng.random_range(0..6) },
                7 => Action::SpotCheck,
                _ => {
                    let deepest = if rng.random_bool(0.3) { MAX_REORG_DEPTH } else { 4 };
                    let depth = rng.random_range(1..=deepest);
                    Action::Reorg { depth, blocks: rng.random_range(0..=depth + 2), replay: rng.random_bool(0.7) }
                }
            };
            (at, action)
        })
        .collect();
    for receiver in 0..rng.random_range(1..=3) {
        actions.push((end.mul_f64(rng.random_range(0.0..0.8)), Action::Register { receiver }));
    }
    actions.sort_by_key(|(at, _)| *at);
    // Receivers are numbered in the order of registration.
    let mut receiver = 0;
    for (_, action) in &mut actions {
        if let Action::Register { receiver: number } = action {
            *number = receiver;
            receiver += 1;
        }
    }
    actions
}

fn schedule<T>(rng: &mut StdRng, end: Duration, mut mode: impl FnMut(&mut StdRng) -> T) -> Schedule<T> {
    let (mut parts, mut until) = (Vec::new(), Duration::ZERO);
    while until < end {
        until += Duration::from_millis(rng.random_range(500..15_000));
        parts.push((until.min(end), mode(rng)));
    }
    Schedule(parts)
}

fn node_mode(rng: &mut StdRng) -> NodeMode {
    match rng.random_range(0..14) {
        0..4 => NodeMode::Honest,
        4..6 => NodeMode::Flaky,
        6..9 => NodeMode::FalseData,
        9 => NodeMode::Lagging(rng.random_range(1..10)),
        10 => NodeMode::OrphanedBranch,
        11 => NodeMode::Silent,
        12 => NodeMode::Limited(rng.random_range(1..30)),
        _ => NodeMode::Down,
    }
}

fn receiver_mode(rng: &mut StdRng) -> ReceiverMode {
    match rng.random_range(0..5) {
        0..2 => ReceiverMode::Healthy,
        2..4 => ReceiverMode::Flaky,
        _ => ReceiverMode::Down,
    }
}

fn crash(rng: &mut StdRng) -> Crash {
    // Most processes make between some dozen and a hundred writes.
    let latest = if rng.random_bool(0.5) { 15 } else { 80 };
    Crash {
        at_write: rng.random_range(1..=latest),
        moment: if rng.random() { Moment::Before } else { Moment::After },
        disk: [DiskFault::Intact, DiskFault::TornWrite, DiskFault::PowerLoss][rng.random_range(0..3)],
        downtime: Duration::from_millis(rng.random_range(0..8_000)),
    }
}
