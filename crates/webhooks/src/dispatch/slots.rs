//! Limits how many messages are in flight. Pure: the caller passes the time.
//!
//! A message costs CPU only while it starts: a DNS lookup, a handshake, a request. After that, a receiver that does not
//! respond costs a socket and some memory. So a message holds one of a few starting slots at first, and is then parked:
//! a parked message does not keep others from starting.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use crate::breaker::{MAX_STARTING, PerTrust, Trust};

/// Upper bound for parked messages; the limit on open files may lower it.
pub const MAX_PARKED: usize = 4_096;

/// Identifies the slot of a message in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SlotId(u64);

#[derive(Debug)]
pub(super) struct Slots {
    max_parked: usize,
    last_id: u64,
    occupied: HashMap<SlotId, (Trust, SlotState)>,
    /// In start order; may still contain slots that were released.
    started: PerTrust<VecDeque<(Instant, SlotId)>>,
    starting: PerTrust<usize>,
    parked: PerTrust<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Starting,
    Parked,
}

impl Slots {
    pub(super) fn new(max_parked: usize) -> Self {
        Self {
            max_parked,
            last_id: 0,
            occupied: HashMap::new(),
            started: PerTrust::default(),
            starting: PerTrust::default(),
            parked: PerTrust::default(),
        }
    }

    /// Whether a message to an endpoint of this trust may begin.
    pub(super) fn is_free(&self, trust: Trust) -> bool {
        self.starting.iter().sum::<usize>() < MAX_STARTING && self.starting[trust] < trust.max_starting()
    }

    pub(super) fn acquire(&mut self, trust: Trust, now: Instant) -> SlotId {
        self.last_id += 1;
        let id = SlotId(self.last_id);
        self.occupied.insert(id, (trust, SlotState::Starting));
        self.started[trust].push_back((now, id));
        self.starting[trust] += 1;
        id
    }

    pub(super) fn release(&mut self, id: SlotId) {
        match self.occupied.remove(&id) {
            Some((trust, SlotState::Starting)) => self.starting[trust] -= 1,
            Some((trust, SlotState::Parked)) => self.parked[trust] -= 1,
            None => {}
        }
    }

    /// Parks messages that have been starting for too long, and returns when the next one is due to be parked. When no
    /// more messages can be parked, the slow ones keep their starting slots and others wait.
    pub(super) fn park_slow(&mut self, now: Instant) -> Option<Duration> {
        Trust::ALL.into_iter().filter_map(|trust| self.park_slow_of(trust, now)).min()
    }

    fn park_slow_of(&mut self, trust: Trust, now: Instant) -> Option<Duration> {
        while let Some(&(started_at, id)) = self.started[trust].front() {
            if let Some(occupied) = self.occupied.get(&id).copied() {
                let age = now.saturating_duration_since(started_at);
                if age < trust.park_after() {
                    return Some(trust.park_after() - age);
                }
                if !self.can_park(trust) {
                    return None;
                }
                debug_assert_eq!(occupied, (trust, SlotState::Starting));
                self.occupied.insert(id, (trust, SlotState::Parked));
                self.starting[trust] -= 1;
                self.parked[trust] += 1;
            }
            self.started[trust].pop_front();
        }
        None
    }

    /// A quarter is reserved for proven endpoints.
    fn can_park(&self, trust: Trust) -> bool {
        let most = match trust {
            Trust::Proven => self.max_parked,
            Trust::Unknown | Trust::Degraded | Trust::Suspect => self.max_parked - self.max_parked / 4,
        };
        self.parked.iter().sum::<usize>() < most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(slots: &mut Slots, trust: Trust, now: Instant) -> Vec<SlotId> {
        std::iter::from_fn(|| slots.is_free(trust).then(|| slots.acquire(trust, now))).collect()
    }

    #[test]
    fn at_most_256_messages_start_at_once_and_some_slots_are_reserved_for_proven_endpoints() {
        let (mut slots, now) = (Slots::new(100), Instant::now());
        let doubtful = [Trust::Unknown, Trust::Degraded, Trust::Suspect];
        let taken: usize = doubtful.into_iter().map(|trust| fill(&mut slots, trust, now).len()).sum();
        assert_eq!(fill(&mut slots, Trust::Proven, now).len(), 256 - taken);
        assert!(taken <= 224);

        let mut slots = Slots::new(100);
        assert_eq!(fill(&mut slots, Trust::Proven, now).len(), 256);
        assert!(Trust::ALL.into_iter().all(|trust| !slots.is_free(trust)));
    }

    #[test]
    fn a_hanging_message_is_parked_and_frees_its_starting_slot() {
        let (mut slots, started_at) = (Slots::new(1_000), Instant::now());
        let hanging = fill(&mut slots, Trust::Unknown, started_at);
        let soon = slots.park_slow(started_at).unwrap();
        assert_eq!(soon, Trust::Unknown.park_after());
        assert!(!slots.is_free(Trust::Unknown));
        assert_eq!(slots.park_slow(started_at + soon), None);
        assert_eq!(fill(&mut slots, Trust::Unknown, started_at + soon).len(), hanging.len());
        // When they end, they free only their parked slots.
        hanging.into_iter().for_each(|id| slots.release(id));
        assert!(!slots.is_free(Trust::Unknown));
        assert_eq!(slots.parked.iter().sum::<usize>(), 0);
    }

    #[test]
    fn parked_messages_are_bounded_and_a_quarter_is_reserved_for_proven_endpoints() {
        let (mut slots, mut now) = (Slots::new(400), Instant::now());
        let mut count = 0;
        for _ in 0..20 {
            count += fill(&mut slots, Trust::Unknown, now).len();
            now += Duration::from_secs(1);
            slots.park_slow(now);
        }
        assert_eq!(count, 300 + Trust::Unknown.max_starting(), "the last ones keep their starting slots");
        assert_eq!(slots.park_slow(now), None, "nothing more can be parked");
        let proven = fill(&mut slots, Trust::Proven, now).len();
        assert!(proven > 0);
        slots.park_slow(now + Duration::from_secs(1));
        assert_eq!(fill(&mut slots, Trust::Proven, now).len(), proven);
    }

    #[test]
    fn releasing_a_slot_twice_frees_it_once() {
        let (mut slots, now) = (Slots::new(10), Instant::now());
        let id = slots.acquire(Trust::Proven, now);
        slots.release(id);
        slots.release(id);
        assert_eq!(slots.park_slow(now + Duration::from_secs(9)), None);
        assert_eq!(fill(&mut slots, Trust::Proven, now).len(), 256);
    }
}
