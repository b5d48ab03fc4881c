//! Whose turn it is. Pure: the time comes from outside.
//!
//! Endpoints wait in lanes by how far they are trusted, each in the order of coming; lanes take turns, so that none waits
//! for another to be empty.

use std::collections::{BTreeSet, HashMap, VecDeque};

use domain::{UnixMillis, WebhookId};

use crate::breaker::Trust;

#[derive(Debug, Default)]
pub(super) struct Turns {
    standing: HashMap<WebhookId, Stand>,
    /// With their tickets.
    lanes: [VecDeque<(WebhookId, u64)>; Trust::ALL.len()],
    timers: BTreeSet<(UnixMillis, WebhookId)>,
    /// The lane whose turn it is.
    turn: usize,
    last_ticket: u64,
}

/// Where an endpoint waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// For its turn, with a ticket of its own: older tickets are worth nothing.
    Lane(Trust, u64),
    /// For a time to come.
    Timer(UnixMillis),
}

impl Turns {
    /// Puts an endpoint into its lane if it may send now, else on a timer.
    pub(super) fn wait(&mut self, id: WebhookId, trust: Trust, at: UnixMillis, now: UnixMillis) {
        match self.standing.get(&id) {
            // Who stands in the right lane already keeps his place.
            Some(Stand::Lane(lane, _)) if at <= now && *lane == trust => return,
            Some(Stand::Timer(timer)) if at > now && *timer == at => return,
            _ => self.leave(id),
        }
        let stand = if at <= now {
            self.last_ticket += 1;
            self.lanes[trust as usize].push_back((id, self.last_ticket));
            Stand::Lane(trust, self.last_ticket)
        } else {
            self.timers.insert((at, id));
            Stand::Timer(at)
        };
        self.standing.insert(id, stand);
    }

    /// An entry left behind in a lane is passed over when its turn comes.
    pub(super) fn leave(&mut self, id: WebhookId) {
        if let Some(Stand::Timer(at)) = self.standing.remove(&id) {
            self.timers.remove(&(at, id));
        }
    }

    /// Whose time has come; they wait for nothing any more.
    pub(super) fn take_due(&mut self, now: UnixMillis) -> Vec<WebhookId> {
        let mut due = Vec::new();
        while let Some(&(at, id)) = self.timers.first()
            && at <= now
        {
            self.leave(id);
            due.push(id);
        }
        due
    }

    pub(super) fn next_timer(&self) -> Option<UnixMillis> {
        self.timers.first().map(|(at, _)| *at)
    }

    pub(super) fn anybody_in_a_lane(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.is_empty())
    }

    /// The next in turn for whose lane there is a place; it waits for nothing any more.
    pub(super) fn next(&mut self, is_free: impl Fn(Trust) -> bool) -> Option<(Trust, WebhookId)> {
        for _ in 0..Trust::ALL.len() {
            let trust = Trust::ALL[self.turn % Trust::ALL.len()];
            self.turn += 1;
            while is_free(trust)
                && let Some((id, ticket)) = self.lanes[trust as usize].pop_front()
            {
                if self.standing.get(&id) == Some(&Stand::Lane(trust, ticket)) {
                    self.standing.remove(&id);
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

    use super::super::places::{MOST_SET_ASIDE, Places};
    use super::*;

    #[test]
    fn each_in_its_turn_and_none_twice() {
        let mut turns = Turns::default();
        for id in [3, 1, 2, 1, 3] {
            turns.wait(id, Trust::Proven, 0, 5);
        }
        let order: Vec<_> = std::iter::from_fn(|| turns.next(|_| true)).collect();
        assert_eq!(order, [3, 1, 2].map(|id| (Trust::Proven, id)));
        assert!(!turns.anybody_in_a_lane());
    }

    #[test]
    fn a_long_lane_does_not_keep_another_waiting() {
        let mut turns = Turns::default();
        (0..100).for_each(|id| turns.wait(id, Trust::Suspect, 0, 0));
        (100..103).for_each(|id| turns.wait(id, Trust::Proven, 0, 0));
        let first: Vec<_> = std::iter::from_fn(|| turns.next(|_| true)).take(6).map(|(_, id)| id).collect();
        assert_eq!(first, [100, 0, 101, 1, 102, 2]);
        assert_eq!(turns.next(|trust| trust != Trust::Suspect), None, "no place, no turn");
        assert_eq!(turns.next(|_| true), Some((Trust::Suspect, 3)), "and nobody is forgotten for it");
    }

    #[test]
    fn who_changes_lanes_or_leaves_is_found_only_where_he_is() {
        let mut turns = Turns::default();
        turns.wait(1, Trust::Unknown, 0, 0);
        turns.wait(1, Trust::Proven, 0, 0);
        turns.wait(2, Trust::Proven, 0, 0);
        turns.leave(2);
        turns.wait(3, Trust::Proven, 9, 0);
        assert_eq!(turns.next(|_| true), Some((Trust::Proven, 1)));
        assert_eq!(turns.next(|_| true), None);
        assert_eq!((turns.next_timer(), turns.take_due(8)), (Some(9), vec![]));
        assert_eq!((turns.take_due(9), turns.next_timer()), (vec![3], None));
        turns.wait(3, Trust::Proven, 20, 9);
        turns.wait(3, Trust::Proven, 15, 9);
        assert_eq!(turns.take_due(30), [3], "once, though the time was changed");
    }

    /// How an endpoint of the crowd answers.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Manner {
        Soon,
        Never,
    }

    /// When each of a crowd's messages begins, in milliseconds, all of them queued at nought: one for each
    /// endpoint.
    fn play(crowd: &[(Trust, Manner)], answer_after: u64) -> BTreeMap<u64, u64> {
        let (mut turns, mut places, epoch) = (Turns::default(), Places::new(MOST_SET_ASIDE), Instant::now());
        for (id, (trust, _)) in (0..).zip(crowd) {
            turns.wait(id, *trust, 0, 0);
        }
        let mut begun = BTreeMap::new();
        let mut ends: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for millisecond in 0..30_000 {
            let now = epoch + Duration::from_millis(millisecond);
            for number in ends.remove(&millisecond).into_iter().flatten() {
                places.give_back(number);
            }
            places.set_aside(now);
            while let Some((trust, id)) = turns.next(|trust| places.is_free(trust)) {
                let lasts = match crowd[usize::try_from(id).unwrap()].1 {
                    Manner::Soon => answer_after,
                    Manner::Never => 10_000,
                };
                ends.entry(millisecond + lasts).or_default().push(places.take(trust, now));
                begun.insert(id, millisecond);
            }
        }
        begun
    }

    fn crowd(size: usize, trust: Trust) -> Vec<(Trust, Manner)> {
        (0..size).map(|place| (trust, if place % 10 < 4 { Manner::Never } else { Manner::Soon })).collect()
    }

    #[test]
    fn those_that_answer_do_not_wait_for_those_that_hang_even_if_nothing_is_known_of_any() {
        let begun = play(&crowd(1_000, Trust::Unknown), 5);
        assert_eq!(begun.len(), 1_000);
        assert!(begun.values().all(|at| *at <= 300), "{:?}", begun.values().max());
    }

    #[test]
    fn nor_if_all_were_known_to_answer_and_some_have_ceased_to() {
        let begun = play(&crowd(1_000, Trust::Proven), 5);
        assert!(begun.values().all(|at| *at <= 500), "{:?}", begun.values().max());
    }

    #[test]
    fn those_known_to_answer_do_not_notice_a_crowd_that_hangs() {
        let mut both = vec![(Trust::Unknown, Manner::Never); 10_000];
        both.extend([(Trust::Suspect, Manner::Never); 5_000]);
        both.extend([(Trust::Proven, Manner::Soon); 500]);
        let begun = play(&both, 5);
        let known: Vec<u64> = begun.range(15_000..).map(|(_, at)| *at).collect();
        assert_eq!(known.len(), 500);
        assert!(known.iter().all(|at| *at <= 100), "{:?}", known.iter().max());
    }
}
