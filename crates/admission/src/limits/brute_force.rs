//! Compares the limiter with a brute-force one, which stores and counts every request, over random schedules.

use std::net::Ipv4Addr;

use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::*;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const SCHEDULES: u64 = 120_000;

/// Every allowed request: its time, client, key and cost.
#[derive(Default)]
struct BruteForceLimiter {
    requests: Vec<(u64, Client, Option<ApiKeyId>, u32)>,
}

impl BruteForceLimiter {
    /// The cost of matching requests in the 60 seconds that end now, both ends included.
    fn count(&self, now: u64, matches: impl Fn(Client, Option<ApiKeyId>) -> bool) -> u32 {
        let recent = self.requests.iter().filter(|(time, ..)| time + MINUTE >= now);
        recent.filter(|(_, client, key, _)| matches(*client, *key)).map(|(.., cost)| cost).sum()
    }

    fn allows(&self, limits: &LimitConfig, client: Client, caller: LimitedCaller, cost: u32, now: u64) -> bool {
        let allowed = |limit: u32, count: u32| count + cost <= limit;
        match caller {
            LimitedCaller::Anonymous => limits.anonymous.is_none_or(|limit| {
                allowed(limit.get(), self.count(now, |other, key| other == client && key.is_none()))
            }),
            LimitedCaller::Unlimited => true,
            LimitedCaller::WithKey { id, requests_per_minute } => {
                let of_client = self.count(now, |other, key| other == client && key.is_some());
                allowed(requests_per_minute, self.count(now, |_, key| key == Some(id)))
                    && limits.keyed_client.is_none_or(|limit| allowed(limit.get().max(requests_per_minute), of_client))
            }
        }
    }
}

fn client(number: u8) -> Client {
    Client::of(Ipv4Addr::new(192, 0, 2, number).into())
}

/// Steps that put requests on the edges of windows.
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
fn the_limiter_agrees_with_brute_force_over_random_schedules() {
    let mut rng = SmallRng::seed_from_u64(7);
    let (mut passed, mut rejected) = (0_u64, 0_u64);
    // Large enough that no log is shared. One limiter for all schedules, which are too far apart to affect each other.
    let mut limiter = RateLimits::bounded(LimitConfig::default(), Bounds { own: 64 * 64, shared: 1 });
    let mut now = 0;
    for _ in 0..SCHEDULES {
        let limits = LimitConfig {
            anonymous: NonZeroU32::new(rng.random_range(1..4)),
            keyed_client: NonZeroU32::new(rng.random_range(0..6)),
        };
        let key_limits = [rng.random_range(1..5), rng.random_range(1..5)];
        limiter.config = limits;
        let mut reference = BruteForceLimiter::default();
        now += 2 * MINUTE + rng.random_range(0..SECOND);
        for _ in 0..rng.random_range(4..28) {
            now += step(&mut rng);
            let client = client(rng.random_range(0..2));
            let caller = match rng.random_range(0..3_u64) {
                0 => LimitedCaller::Anonymous,
                id => LimitedCaller::WithKey { id, requests_per_minute: key_limits[usize::try_from(id - 1).unwrap()] },
            };
            let most = limiter.counted(client, caller).iter().map(|(_, limit)| *limit).min().unwrap_or(1);
            let cost = if rng.random_bool(0.5) { 1 } else { rng.random_range(1..=most) };
            let expected = reference.allows(&limits, client, caller, cost, now);
            let decision = limiter.try_acquire_at(client, caller, cost, Moment(now));
            assert_eq!(!decision.rejected, expected, "{caller:?} at {now} under {limits:?}");
            if expected {
                passed += 1;
                let key = if let LimitedCaller::WithKey { id, .. } = caller { Some(id) } else { None };
                reference.requests.push((now, client, key, cost));
            } else {
                rejected += 1;
                retry_after_is_exact(&limits, &reference, client, caller, now, &decision);
            }
        }
    }
    assert!(passed > SCHEDULES && rejected > SCHEDULES, "{passed} allowed, {rejected} rejected");
}

/// The brute-force limiter allows the request after `Retry-After`, and not a second earlier.
fn retry_after_is_exact(
    limits: &LimitConfig,
    reference: &BruteForceLimiter,
    client: Client,
    caller: LimitedCaller,
    now: u64,
    decision: &LimitDecision,
) {
    let wait = decision.retry_after().expect("a rejection has Retry-After");
    assert!((1..=61).contains(&wait), "{wait}");
    assert!(
        reference.allows(limits, client, caller, decision.cost, now + wait * SECOND),
        "{caller:?} rejected again after {wait} s"
    );
    if wait > 1 {
        assert!(
            !reference.allows(limits, client, caller, decision.cost, now + (wait - 1) * SECOND),
            "{wait} s is longer than necessary"
        );
    }
}

#[test]
fn memory_is_bounded_for_a_million_clients() {
    let limiter = RateLimits::new(LimitConfig::default());
    let (before, mut after) = (resident_kilobytes(), Vec::new());
    // Two rounds: the clients of the second one must reuse the memory of the first.
    for round in 0..2_u32 {
        for number in 0..1_000_000_u32 {
            let client = Client::of(Ipv4Addr::from(round << 24 | number).into());
            let now = u64::from(round) * 2 * MINUTE + u64::from(number) * 1_000;
            for _ in 0..if number < 200_000 { 10 } else { 1 } {
                limiter.try_acquire_at(client, LimitedCaller::Anonymous, 1, Moment(now));
            }
        }
        assert!(limiter.anonymous.logs() <= BOUNDS.own);
        after.push(resident_kilobytes().saturating_sub(before));
    }
    // Generous, since other tests run in the same process: one log for each of two million clients would take ten times
    // as much.
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
fn many_clients_do_not_reset_the_limit_of_earlier_ones() {
    let limiter = RateLimits::new(LimitConfig::default());
    for number in 0..300_000_u32 {
        let client = Client::of(Ipv4Addr::from(number).into());
        limiter.try_acquire_at(client, LimitedCaller::Anonymous, 1, Moment(u64::from(number) * 1_000));
    }
    let first = Client::of(Ipv4Addr::from(0).into());
    let state = limiter.try_acquire_at(first, LimitedCaller::Anonymous, 1, Moment(SECOND)).quotas[0].unwrap().state;
    assert_eq!(state.remaining, 8, "the limit of the first client was reset");
}
