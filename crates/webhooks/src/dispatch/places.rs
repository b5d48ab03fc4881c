//! How many messages may be under way. Pure: the time comes from outside.
//!
//! Sending costs work while it begins: a look-up, a handshake, a request. After that, a receiver that does not answer
//! costs a socket and some memory, and no work at all. So a message holds one of few places while it is young, and is then set aside
//! among many, where it cannot keep others from beginning.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use crate::breaker::{IN_ALL, Trust};
use tokio::time::Instant;

/// Messages set aside at most, where the system lets us have so many sockets.
pub const MOST_SET_ASIDE: usize = 4_096;

/// A message under way, by its running number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PlaceNumber(u64);

#[derive(Debug)]
pub(super) struct Places {
    most_set_aside: usize,
    last_number: u64,
    held: HashMap<PlaceNumber, (Trust, Age)>,
    /// In the order of beginning, with some that are over.
    beginnings: [VecDeque<(Instant, PlaceNumber)>; Trust::ALL.len()],
    young: [usize; Trust::ALL.len()],
    set_aside: [usize; Trust::ALL.len()],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    Young,
    SetAside,
}

impl Places {
    pub(super) fn new(most_set_aside: usize) -> Self {
        Self {
            most_set_aside,
            last_number: 0,
            held: HashMap::new(),
            beginnings: Default::default(),
            young: Default::default(),
            set_aside: Default::default(),
        }
    }

    /// Whether a message to an endpoint of this trust may begin.
    pub(super) fn is_free(&self, trust: Trust) -> bool {
        self.young.iter().sum::<usize>() < IN_ALL && self.young[trust as usize] < trust.young_in_all()
    }

    pub(super) fn take(&mut self, trust: Trust, now: Instant) -> PlaceNumber {
        self.last_number += 1;
        let number = PlaceNumber(self.last_number);
        self.held.insert(number, (trust, Age::Young));
        self.beginnings[trust as usize].push_back((now, number));
        self.young[trust as usize] += 1;
        number
    }

    pub(super) fn give_back(&mut self, number: PlaceNumber) {
        match self.held.remove(&number) {
            Some((trust, Age::Young)) => self.young[trust as usize] -= 1,
            Some((trust, Age::SetAside)) => self.set_aside[trust as usize] -= 1,
            None => {}
        }
    }

    /// Sets aside what is no longer young, and gives when there will be more of it. Where enough are set aside, the young
    /// stay in their places, and others wait for them.
    pub(super) fn set_aside(&mut self, now: Instant) -> Option<Duration> {
        Trust::ALL.into_iter().filter_map(|trust| self.set_aside_of(trust, now)).min()
    }

    fn set_aside_of(&mut self, trust: Trust, now: Instant) -> Option<Duration> {
        while let Some(&(begun, number)) = self.beginnings[trust as usize].front() {
            if let Some(held) = self.held.get(&number).copied() {
                let age = now.saturating_duration_since(begun);
                if age < trust.young_for() {
                    return Some(trust.young_for() - age);
                }
                if !self.has_room_aside(trust) {
                    return None;
                }
                debug_assert_eq!(held, (trust, Age::Young));
                self.held.insert(number, (trust, Age::SetAside));
                self.young[trust as usize] -= 1;
                self.set_aside[trust as usize] += 1;
            }
            self.beginnings[trust as usize].pop_front();
        }
        None
    }

    /// A quarter is kept for those that are known to answer.
    fn has_room_aside(&self, trust: Trust) -> bool {
        let most = match trust {
            Trust::Proven => self.most_set_aside,
            Trust::Unknown | Trust::Shaken | Trust::Suspect => self.most_set_aside - self.most_set_aside / 4,
        };
        self.set_aside.iter().sum::<usize>() < most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(places: &mut Places, trust: Trust, now: Instant) -> Vec<PlaceNumber> {
        std::iter::from_fn(|| places.is_free(trust).then(|| places.take(trust, now))).collect()
    }

    #[test]
    fn no_more_than_256_are_young_and_places_are_left_for_those_that_answer() {
        let (mut places, now) = (Places::new(100), Instant::now());
        let doubtful = [Trust::Unknown, Trust::Shaken, Trust::Suspect];
        let taken: usize = doubtful.into_iter().map(|trust| fill(&mut places, trust, now).len()).sum();
        assert_eq!(fill(&mut places, Trust::Proven, now).len(), 256 - taken);
        assert!(taken <= 224);

        let mut places = Places::new(100);
        assert_eq!(fill(&mut places, Trust::Proven, now).len(), 256);
        assert!(Trust::ALL.into_iter().all(|trust| !places.is_free(trust)));
    }

    #[test]
    fn what_hangs_is_set_aside_and_others_begin() {
        let (mut places, begun) = (Places::new(1_000), Instant::now());
        let hanging = fill(&mut places, Trust::Unknown, begun);
        let soon = places.set_aside(begun).unwrap();
        assert_eq!(soon, Trust::Unknown.young_for());
        assert!(!places.is_free(Trust::Unknown));
        assert_eq!(places.set_aside(begun + soon), None);
        assert_eq!(fill(&mut places, Trust::Unknown, begun + soon).len(), hanging.len());
        // Over at last, they free nothing but their own places aside.
        hanging.into_iter().for_each(|number| places.give_back(number));
        assert!(!places.is_free(Trust::Unknown));
        assert_eq!(places.set_aside.iter().sum::<usize>(), 0);
    }

    #[test]
    fn as_many_as_may_be_are_set_aside_and_a_quarter_is_for_those_that_answer() {
        let (mut places, mut now) = (Places::new(400), Instant::now());
        let mut begun = 0;
        for _ in 0..20 {
            begun += fill(&mut places, Trust::Unknown, now).len();
            now += Duration::from_secs(1);
            places.set_aside(now);
        }
        assert_eq!(begun, 300 + Trust::Unknown.young_in_all(), "the last ones stay in their places");
        assert_eq!(places.set_aside(now), None, "until one of those set aside is over");
        let proven = fill(&mut places, Trust::Proven, now).len();
        assert!(proven > 0);
        places.set_aside(now + Duration::from_secs(1));
        assert_eq!(fill(&mut places, Trust::Proven, now).len(), proven);
    }

    #[test]
    fn a_place_is_given_back_once() {
        let (mut places, now) = (Places::new(10), Instant::now());
        let number = places.take(Trust::Proven, now);
        places.give_back(number);
        places.give_back(number);
        assert_eq!(places.set_aside(now + Duration::from_secs(9)), None);
        assert_eq!(fill(&mut places, Trust::Proven, now).len(), 256);
    }
}
