//! What this process may count without a round trip. All of it counts as used in the database until it is reported or returned.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use store::{QuotaCaller, QuotaLeft};
use tokio::sync::{Mutex as AsyncMutex, Notify};

use super::QuotaReply;

/// Below this limit, a lease saves too few round trips.
const MIN_LIMIT: u32 = 50;
/// The part of a limit that a process leases at most.
const MAX_SHARE: u32 = 5;
/// Callers without requests for this many leases are forgotten.
const IDLE: u32 = 3;
/// Requests of further callers are counted in the database, one by one.
const MAX_CALLERS: usize = 1 << 16;

/// How long a lease holds in the database.
pub(super) fn lease_time(window: Duration) -> Duration {
    window / 6
}

/// How long it is used here: then there is time to return it before its end.
fn use_time(window: Duration) -> Duration {
    lease_time(window) * 4 / 5
}

#[derive(Debug, Default)]
pub(super) struct Leases {
    callers: Mutex<HashMap<Vec<u8>, Arc<Lease>>>,
    added: Notify,
}

/// The lease of a caller.
#[derive(Debug, Default)]
pub(super) struct Lease {
    state: Mutex<State>,
    /// Held by the one request that asks the database; when it last failed, and why.
    pub(super) asking: AsyncMutex<Option<(Instant, String)>>,
}

/// What a process returns: units that it used, with the times, and units that it did not.
#[derive(Debug, Default)]
pub(super) struct Returned {
    used: Vec<(Instant, u32)>,
    pub(super) unused: u32,
}

impl Returned {
    /// How long ago each unit was used, in microseconds. The database subtracts them from a later time: nothing counts for less than
    /// its window.
    pub(super) fn ages(&self) -> Vec<i64> {
        let age = |used: Instant| i64::try_from(used.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.used.iter().flat_map(|(used, cost)| std::iter::repeat_n(age(*used), *cost as usize)).collect()
    }

    fn is_empty(&self) -> bool {
        self.used.is_empty() && self.unused == 0
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    limit: u32,
    window: Duration,
    /// What is left of the lease, and until when it is used.
    unused: u32,
    ends: Option<Instant>,
    unreported: Vec<(Instant, u32)>,
    /// What the caller has left, and when there is more. If not all of that is known, the database is asked after the last.
    remaining: u32,
    expiries: VecDeque<Instant>,
    knows_all_expiries: bool,
    /// What was counted in this period of a lease, and in the one before.
    period: Option<Instant>,
    counted: u32,
    counted_before: u32,
}

impl State {
    /// Counts a request; None if the lease has too little left, or none.
    pub(super) fn take(&mut self, limit: u32, cost: u32, window: Duration, now: Instant) -> Option<QuotaLeft> {
        let is_valid = self.ends.is_some_and(|ends| now < ends) && (self.limit, self.window) == (limit, window);
        if !is_valid || self.unused < cost {
            return None;
        }
        while self.expiries.front().is_some_and(|expires| *expires <= now) {
            self.expiries.pop_front();
            self.remaining = (self.remaining + 1).min(limit);
        }
        if self.expiries.is_empty() && !self.knows_all_expiries {
            return None;
        }
        self.unused -= cost;
        self.remaining = self.remaining.saturating_sub(cost);
        self.unreported.push((now, cost));
        if self.knows_all_expiries {
            self.expiries.extend(std::iter::repeat_n(now + window, cost as usize));
        }
        self.count(cost, now);
        let until_more = self.expiries.front().map_or(window, |expires| *expires - now);
        Some(QuotaLeft { remaining: self.remaining, until_more })
    }

    /// Ends the lease. Returns what to report, and how much to lease next: as much as was counted in the time of a lease.
    pub(super) fn plan(&mut self, limit: u32, window: Duration, now: Instant) -> (Returned, u32) {
        if self.window != window {
            (self.window, self.period) = (window, None);
        }
        self.count(0, now);
        let wanted = self.counted.max(self.counted_before).min(limit / MAX_SHARE);
        (self.end(), wanted)
    }

    fn end(&mut self) -> Returned {
        self.ends = None;
        Returned { used: std::mem::take(&mut self.unreported), unused: std::mem::take(&mut self.unused) }
    }

    /// `asked` is when the database was asked: it counts the lease from later on.
    pub(super) fn apply_reply(&mut self, limit: u32, cost: u32, window: Duration, reply: &QuotaReply, asked: Instant) {
        let now = Instant::now();
        if reply.used.allowed {
            self.count(cost, now);
        }
        if reply.granted == 0 {
            return;
        }
        (self.limit, self.unused, self.ends) = (limit, reply.granted, Some(asked + use_time(window)));
        self.remaining = reply.used.left.first().map_or(0, |left| left.remaining);
        self.expiries = reply.expiries.iter().map(|expiry| now + *expiry).collect();
        let known = u32::try_from(self.expiries.len()).unwrap_or(u32::MAX);
        self.knows_all_expiries = known.saturating_add(self.remaining) >= limit;
    }

    fn count(&mut self, cost: u32, now: Instant) {
        let length = lease_time(self.window);
        let age = self.period.map(|period| now.saturating_duration_since(period));
        if age.is_none_or(|age| age >= length) {
            let is_next = age.is_some_and(|age| age < 2 * length);
            self.counted_before = if is_next { self.counted } else { 0 };
            (self.period, self.counted) = (Some(now), 0);
        }
        self.counted = self.counted.saturating_add(cost);
    }

    fn is_outstanding(&self) -> bool {
        self.unused > 0 || !self.unreported.is_empty()
    }

    /// Whether the lease is to be returned since no request has ended it.
    fn is_over(&self, now: Instant) -> bool {
        self.is_outstanding() && self.ends.is_none_or(|ends| now >= ends)
    }

    fn is_idle(&self, now: Instant) -> bool {
        !self.is_outstanding()
            && self.period.is_none_or(|period| now.saturating_duration_since(period) > lease_time(self.window) * IDLE)
    }
}

impl Lease {
    pub(super) fn is_leasable(limit: u32) -> bool {
        limit >= MIN_LIMIT
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leases {
    fn callers(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Arc<Lease>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn of(&self, caller: &QuotaCaller) -> Arc<Lease> {
        let mut callers = self.callers();
        if let Some(lease) = callers.get(&caller.name) {
            return Arc::clone(lease);
        }
        let lease = Arc::<Lease>::default();
        if callers.len() < MAX_CALLERS {
            callers.insert(caller.name.clone(), Arc::clone(&lease));
            self.added.notify_one();
        }
        lease
    }

    /// Returns when there is a caller.
    pub(super) async fn wait_for_caller(&self) {
        while self.callers().is_empty() {
            self.added.notified().await;
        }
    }

    /// Whether any lease is to be returned now or later. Forgets callers without requests.
    pub(super) fn has_outstanding(&self, now: Instant) -> bool {
        let mut callers = self.callers();
        callers.retain(|_, lease| Arc::strong_count(lease) > 1 || !lease.state().is_idle(now));
        callers.values().any(|lease| lease.state().is_outstanding())
    }

    /// Ends leases that are over, and those of these callers.
    pub(super) fn due(&self, recalled: &[Vec<u8>], now: Instant) -> Vec<(QuotaCaller, Duration, Returned)> {
        let callers = self.callers();
        let end = |(name, lease): (&Vec<u8>, &Arc<Lease>)| {
            let mut state = lease.state();
            let is_due = state.is_over(now) || recalled.contains(name);
            let returned = is_due.then(|| state.end()).filter(|returned| !returned.is_empty())?;
            Some((QuotaCaller { name: name.clone(), limit: state.limit }, state.window, returned))
        };
        callers.iter().filter_map(end).collect()
    }

    pub(super) fn end_all(&self) {
        for lease in self.callers().values() {
            lease.state().ends = None;
        }
    }
}
