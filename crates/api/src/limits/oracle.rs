//! The limiter against one that remembers everything and counts by looking at all of it, over random schedules.

use std::net::Ipv4Addr;

use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::*;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const SCHEDULES: u64 = 120_000;

/// Every request that ever passed: when, whose, with which key.
#[derive(Default)]
struct Oracle {
    passed: Vec<(u64, Client, Option<ApiKeyId>)>,
}

impl Oracle {
    /// Requests of a kind that passed in the 60 seconds that end now, both ends included.
    fn count(&self, now: u64, counts: impl Fn(Client, Option<ApiKeyId>) -> bool) -> u32 {
        let recent = self.passed.iter().filter(|(time, ..)| time + MINUTE >= now);
        u32::try_from(recent.filter(|(_, client, key)| counts(*client, *key)).count()).unwrap()
    }

    fn admits(&self, limits: &LimitConfig, client: Client, asking: Asking, now: u64) -> bool {
        let free = |limit: u32, count: u32| count < limit;
        match asking {
            Asking::Anonymous => limits
                .anonymous
                .is_none_or(|limit| free(limit.get(), self.count(now, |whose, key| whose == client && key.is_none()))),
            Asking::WithKey { id, requests_per_minute } => {
                let of_client = self.count(now, |whose, key| whose == client && key.is_some());
                free(requests_per_minute, self.count(now, |_, key| key == Some(id)))
                    && limits.keyed_client.is_none_or(|limit| free(limit.get().max(requests_per_minute), of_client))
            }
        }
    }
}

fn client(number: u8) -> Client {
    Client::of(Ipv4Addr::new(192, 0, 2, number).into())
}

/// Steps that make requests meet at the edges of windows.
fn step(rng: &mut SmallRng) -> u64 {
    match rng.random_range(0..8) {
        0 => 0,
        1 => 1,
        2 => rng.random_range(0..SECOND),
        3 => SECOND,
        4 => MINUTE,
        5 => MINUTE + 1,
        6 => rng.random_range(0..MINUTE),
        _ => rng.random_range(0..10) * SECOND,
    }
}

#[test]
fn over_random_schedules_exactly_those_pass_whom_brute_force_lets_pass() {
    let mut rng = SmallRng::seed_from_u64(7);
    let (mut passed, mut refused) = (0_u64, 0_u64);
    // Room enough that nobody has to share. One for all schedules, which lie too far apart to touch one another.
    let mut limiter = RateLimits::bounded(LimitConfig::default(), Bounds { own: 64 * 64, shared: 1 });
    let mut now = 0;
    for _ in 0..SCHEDULES {
        let limits = LimitConfig {
            anonymous: NonZeroU32::new(rng.random_range(1..4)),
            keyed_client: NonZeroU32::new(rng.random_range(0..6)),
        };
        let of_key = [rng.random_range(1..5), rng.random_range(1..5)];
        limiter.config = limits;
        let mut oracle = Oracle::default();
        now += 2 * MINUTE + rng.random_range(0..SECOND);
        for _ in 0..rng.random_range(4..28) {
            now += step(&mut rng);
            let who = client(rng.random_range(0..2));
            let asking = match rng.random_range(0..3_u64) {
                0 => Asking::Anonymous,
                id => Asking::WithKey { id, requests_per_minute: of_key[usize::try_from(id - 1).unwrap()] },
            };
            let expected = oracle.admits(&limits, who, asking, now);
            let verdict = limiter.draw_at(who, asking, Moment(now));
            assert_eq!(!verdict.refused, expected, "{asking:?} at {now} under {limits:?}");
            if expected {
                passed += 1;
                let key = if let Asking::WithKey { id, .. } = asking { Some(id) } else { None };
                oracle.passed.push((now, who, key));
            } else {
                refused += 1;
                waits_as_told_and_passes(&limits, &oracle, who, asking, now, &verdict);
            }
        }
    }
    assert!(passed > SCHEDULES && refused > SCHEDULES, "{passed} passed, {refused} refused");
}

/// By brute force, again: after as many seconds as were told there is room, and a second earlier there was not.
fn waits_as_told_and_passes(
    limits: &LimitConfig,
    oracle: &Oracle,
    who: Client,
    asking: Asking,
    now: u64,
    verdict: &Verdict,
) {
    let wait = verdict.retry_after().expect("a refusal tells how long to wait");
    assert!((1..=61).contains(&wait), "{wait}");
    assert!(oracle.admits(limits, who, asking, now + wait * SECOND), "{asking:?} refused again after {wait} s");
    if wait > 1 {
        assert!(!oracle.admits(limits, who, asking, now + (wait - 1) * SECOND), "{wait} s were too long a wait");
    }
}

#[test]
fn a_million_clients_take_no_more_memory_than_those_that_fit() {
    let limiter = RateLimits::new(LimitConfig::default());
    let (before, mut after) = (resident_kilobytes(), Vec::new());
    // Twice, and each client ten times where it may: the second crowd must find the room of the first.
    for round in 0..2_u32 {
        for number in 0..1_000_000_u32 {
            let client = Client::of(Ipv4Addr::from(round << 24 | number).into());
            let now = u64::from(round) * 2 * MINUTE + u64::from(number) * 1_000;
            for _ in 0..if number < 200_000 { 10 } else { 1 } {
                limiter.draw_at(client, Asking::Anonymous, Moment(now));
            }
        }
        assert!(limiter.anonymous.remembered() <= BOUNDS.own);
        after.push(resident_kilobytes().saturating_sub(before));
    }
    // Other tests run beside this one, hence the generous bound: remembered one by one, two million clients with their
    // requests would take ten times as much.
    assert!(after.iter().all(|kilobytes| *kilobytes < 64 * 1024), "{after:?} kB");
    // Shown with --nocapture.
    let figures = format!("memory of the limiter after one and two million clients: {after:?} kB\n");
    std::io::Write::write_all(&mut std::io::stderr(), figures.as_bytes()).unwrap();
}

fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn a_crowd_does_not_clear_those_who_were_there_before() {
    let limiter = RateLimits::new(LimitConfig::default());
    for number in 0..300_000_u32 {
        let client = Client::of(Ipv4Addr::from(number).into());
        limiter.draw_at(client, Asking::Anonymous, Moment(u64::from(number) * 1_000));
    }
    let first = Client::of(Ipv4Addr::from(0).into());
    let standing = limiter.draw_at(first, Asking::Anonymous, Moment(SECOND)).quotas[0].unwrap().standing;
    assert_eq!(standing.remaining, 8, "the crowd has cleared the first of them");
}
