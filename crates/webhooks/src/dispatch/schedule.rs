//! Decides which endpoint sends next. Pure: the caller passes the time.
//!
//! Ready endpoints wait in FIFO lanes, one lane per trust level. Lanes are served round-robin, so a long lane does not
//! delay the others.

use std::collections::{BTreeSet, HashMap, VecDeque};

use domain::{UnixMillis, WebhookId};

use crate::breaker::{PerTrust, Trust};

#[derive(Debug, Default)]
pub(super) struct Schedule {
    positions: HashMap<WebhookId, Position>,
    /// Endpoints with their tickets.
    lanes: PerTrust<VecDeque<(WebhookId, u64)>>,
    timers: BTreeSet<(UnixMillis, WebhookId)>,
    /// The index of the lane that is served next.
    next_lane: usize,
    last_ticket: u64,
}

/// Where an endpoint waits for its next send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Ready, in a lane. Only the lane entry with this ticket is valid.
    Lane(Trust, u64),
    /// Not ready before this time.
    Timer(UnixMillis),
}

impl Schedule {
    /// Puts an endpoint into its lane if it may send now, else on a timer.
    pub(super) fn enqueue(&mut self, id: WebhookId, trust: Trust, at: UnixMillis, now: UnixMillis) {
        match self.positions.get(&id) {
            // An endpoint that is already in the right lane keeps its position.
            Some(Position::Lane(lane, _)) if at <= now && *lane == trust => return,
            Some(Position::Timer(timer)) if at > now && *timer == at => return,
            _ => self.remove(id),
        }
        let position = if at <= now {
            self.last_ticket += 1;
            self.lanes[trust].push_back((id, self.last_ticket));
            Position::Lane(trust, self.last_ticket)
        } else {
            self.timers.insert((at, id));
            Position::Timer(at)
        };
        self.positions.insert(id, position);
    }

    /// A stale lane entry is skipped when it is popped.
    pub(super) fn remove(&mut self, id: WebhookId) {
        if let Some(Position::Timer(at)) = self.positions.remove(&id) {
            self.timers.remove(&(at, id));
        }
    }

    /// Removes and returns the endpoints whose timers have expired.
    pub(super) fn take_due(&mut self, now: UnixMillis) -> Vec<WebhookId> {
        let mut due = Vec::new();
        while let Some(&(at, id)) = self.timers.first()
            && at <= now
        {
            self.remove(id);
            due.push(id);
        }
        due
    }

    pub(super) fn next_timer(&self) -> Option<UnixMillis> {
        self.timers.first().map(|(at, _)| *at)
    }

    pub(super) fn has_ready(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.is_empty())
    }

    /// Removes and returns the next ready endpoint whose lane has a free slot.
    pub(super) fn next(&mut self, is_free: impl Fn(Trust) -> bool) -> Option<(Trust, WebhookId)> {
        let lanes = Trust::ALL.len();
        for trust in Trust::ALL.into_iter().cycle().skip(self.next_lane).take(lanes) {
            self.next_lane = (self.next_lane + 1) % lanes;
            while is_free(trust)
                && let Some((id, ticket)) = self.lanes[trust].pop_front()
            {
                if self.positions.get(&id) == Some(&Position::Lane(trust, ticket)) {
                    self.positions.remove(&id);
                    return Some((trust, id));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use tokio::time::Instant;

    use super::{
        super::slots::{MAX_PARKED, Slots},
        *,
    };

    #[test]
    fn endpoints_are_served_in_order_and_only_once() {
        let mut schedule = Schedule::default();
        for id in [3, 1, 2, 1, 3] {
            schedule.enqueue(id, Trust::Proven, 0, 5);
        }
        let order: Vec<_> = std::iter::from_fn(|| schedule.next(|_| true)).collect();
        assert_eq!(order, [3, 1, 2].map(|id| (Trust::Proven, id)));
        assert!(!schedule.has_ready());
    }

    #[test]
    fn a_long_lane_does_not_delay_another() {
        let mut schedule = Schedule::default();
        (0..100).for_each(|id| schedule.enqueue(id, Trust::Suspect, 0, 0));
        (100..103).for_each(|id| schedule.enqueue(id, Trust::Proven, 0, 0));
        let first: Vec<_> = std::iter::from_fn(|| schedule.next(|_| true)).take(6).map(|(_, id)| id).collect();
        assert_eq!(first, [100, 0, 101, 1, 102, 2]);
        assert_eq!(schedule.next(|trust| trust != Trust::Suspect), None, "without a free slot nothing is popped");
        assert_eq!(schedule.next(|_| true), Some((Trust::Suspect, 3)), "and the lane keeps its entries");
    }

    #[test]
    fn an_endpoint_that_changes_lanes_or_is_removed_leaves_no_stale_entry() {
        let mut schedule = Schedule::default();
        schedule.enqueue(1, Trust::Unknown, 0, 0);
        schedule.enqueue(1, Trust::Proven, 0, 0);
        schedule.enqueue(2, Trust::Proven, 0, 0);
        schedule.remove(2);
        schedule.enqueue(3, Trust::Proven, 9, 0);
        assert_eq!(schedule.next(|_| true), Some((Trust::Proven, 1)));
        assert_eq!(schedule.next(|_| true), None);
        assert_eq!((schedule.next_timer(), schedule.take_due(8)), (Some(9), vec![]));
        assert_eq!((schedule.take_due(9), schedule.next_timer()), (vec![3], None));
        schedule.enqueue(3, Trust::Proven, 20, 9);
        schedule.enqueue(3, Trust::Proven, 15, 9);
        assert_eq!(schedule.take_due(30), [3], "once, although its time was changed");
    }

    /// How a simulated endpoint responds.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Behaviour {
        Responds,
        Hangs,
    }

    /// Returns when each endpoint's message starts, in milliseconds. Each endpoint has one message, queued at time 0.
    fn simulate(endpoints: &[(Trust, Behaviour)], response_time: u64) -> BTreeMap<u64, u64> {
        let (mut schedule, mut slots, epoch) = (Schedule::default(), Slots::new(MAX_PARKED), Instant::now());
        for (id, (trust, _)) in (0..).zip(endpoints) {
            schedule.enqueue(id, *trust, 0, 0);
        }
        let mut starts = BTreeMap::new();
        let mut ends: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for millisecond in 0..30_000 {
            let now = epoch + Duration::from_millis(millisecond);
            for number in ends.remove(&millisecond).into_iter().flatten() {
                slots.release(number);
            }
            slots.park_slow(now);
            while let Some((trust, id)) = schedule.next(|trust| slots.is_free(trust)) {
                let duration = match endpoints[usize::try_from(id).unwrap()].1 {
                    Behaviour::Responds => response_time,
                    Behaviour::Hangs => 10_000,
                };
                ends.entry(millisecond + duration).or_default().push(slots.acquire(trust, now));
                starts.insert(id, millisecond);
            }
        }
        starts
    }

    fn endpoints(size: usize, trust: Trust) -> Vec<(Trust, Behaviour)> {
        (0..size).map(|index| (trust, if index % 10 < 4 { Behaviour::Hangs } else { Behaviour::Responds })).collect()
    }

    #[test]
    fn responding_endpoints_do_not_wait_for_hanging_ones_when_all_are_unknown() {
        let starts = simulate(&endpoints(1_000, Trust::Unknown), 5);
        assert_eq!(starts.len(), 1_000);
        assert!(starts.values().all(|at| *at <= 300), "{:?}", starts.values().max());
    }

    #[test]
    fn responding_endpoints_do_not_wait_for_proven_ones_that_begin_to_hang() {
        let starts = simulate(&endpoints(1_000, Trust::Proven), 5);
        assert!(starts.values().all(|at| *at <= 500), "{:?}", starts.values().max());
    }

    #[test]
    fn proven_endpoints_are_not_delayed_by_many_hanging_ones() {
        let mut both = vec![(Trust::Unknown, Behaviour::Hangs); 10_000];
        both.extend([(Trust::Suspect, Behaviour::Hangs); 5_000]);
        both.extend([(Trust::Proven, Behaviour::Responds); 500]);
        let starts = simulate(&both, 5);
        let known: Vec<u64> = starts.range(15_000..).map(|(_, at)| *at).collect();
        assert_eq!(known.len(), 500);
        assert!(known.iter().all(|at| *at <= 100), "{:?}", known.iter().max());
    }
}
