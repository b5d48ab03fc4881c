use std::collections::VecDeque;

use super::{state::*, *};

/// Sends a request as soon as the gate permits; returns when that was.
fn send(state: &mut State, mut now: Instant) -> Instant {
    state.enter(Lane::Block);
    while let Err(at) = state.grant(1, Lane::Block, now) {
        now = at;
    }
    state.lane(Lane::Block).is_waiting = false;
    now
}

/// Simulates an endpoint with a limit per second that also rejects one in so many requests for no reason, called as fast as the gate
/// permits; returns how many requests it served and rejected.
fn run(limit: usize, one_in: usize, seconds: u64, retry_after: Option<Duration>) -> (usize, usize) {
    let (mut state, begun) = (State::default(), Instant::now());
    let (mut now, mut taken) = (begun, VecDeque::new());
    let (mut served, mut refused) = (0, 0);
    while now.duration_since(begun) < Duration::from_secs(seconds) {
        now = send(&mut state, now);
        while taken.front().is_some_and(|then| now.duration_since(*then) >= WINDOW) {
            taken.pop_front();
        }
        if taken.len() < limit && (served + refused + 1) % one_in != 0 {
            taken.push_back(now);
            served += 1;
            state.answered(now);
        } else {
            refused += 1;
            state.refused(now, retry_after, now);
        }
        now += Duration::from_millis(1);
    }
    (served, refused)
}

#[test]
fn a_limit_is_fully_used_with_few_rejections() {
    for (limit, retry_after) in [(20, None), (20, Some(WINDOW)), (3, None), (200, Some(WINDOW))] {
        let (served, refused) = run(limit, usize::MAX, 60, retry_after);
        assert!(served >= limit * 60 * 85 / 100, "{served} of {}", limit * 60);
        assert!(refused * 20 <= served.max(200), "{refused} rejected, {served} served");
    }
}

#[test]
fn rejections_now_and_then_are_no_limit() {
    for one_in in [20, 40] {
        let (served, refused) = run(usize::MAX, one_in, 60, Some(Duration::from_secs(30)));
        assert_eq!(served + refused, 60_000, "all are sent at once");
        let (served, _) = run(200, one_in, 60, None);
        assert!(served >= 200 * 60 * 75 / 100, "a limit is still used: {served}");
    }
}

fn reject(state: &mut State, times: usize, retry_after: Option<Duration>, now: Instant) {
    (0..times).for_each(|_| state.refused(now, retry_after, now));
}

#[test]
fn responses_after_the_first_rejections_count_as_well() {
    let (mut state, now) = (State::default(), Instant::now());
    state.answered(now);
    reject(&mut state, 5, None, now);
    for response in 1..=20 {
        state.answered(now + Duration::from_millis(response * 10));
    }
    assert!(state.rate.is_some_and(|rate| rate > 18.9), "{:?}", state.rate);
    // Nothing is sent until the second used up by the burst is over.
    assert!(send(&mut state, now + Duration::from_millis(300)) >= now + WINDOW);
}

#[test]
fn an_endpoint_that_rejects_everything_is_probed_and_used_again_once_it_answers() {
    let (mut state, begun) = (State::default(), Instant::now());
    let (mut now, mut probes) = (begun, 0);
    while now.duration_since(begun) < Duration::from_secs(60) {
        now = send(&mut state, now);
        state.refused(now, None, now);
        probes += 1;
    }
    assert!((60..80).contains(&probes), "{probes}");
    let waited = send(&mut state, now).duration_since(now);
    assert!(waited <= MAX_BACKOFF, "{waited:?}");
    now += waited;
    state.answered(now);
    assert!(state.is_unlimited(), "it never answered fewer requests than were sent");
}

#[test]
fn a_lifted_limit_is_dropped() {
    let (mut state, mut now) = (State::default(), Instant::now());
    state.answered(now);
    reject(&mut state, 4, None, now);
    assert!(state.rate.is_some());
    let cut = now;
    while state.rate.is_some() && now.duration_since(cut) < Duration::from_secs(300) {
        now = send(&mut state, now);
        state.answered(now);
    }
    assert_eq!(state.rate, None);
}

#[test]
fn retry_after_is_respected_if_there_is_a_limit() {
    let (mut state, now) = (State::default(), Instant::now());
    let seven = Duration::from_secs(7);
    reject(&mut state, 3, Some(seven), now);
    assert_eq!(send(&mut state, now), now);
    reject(&mut state, 1, Some(seven), now);
    assert!(send(&mut state, now) >= now + seven);
}

fn reject_all(gate: &RateGate, retry_after: Option<Duration>) {
    let now = Instant::now();
    gate.state().counts_from = None;
    (0..4).for_each(|_| gate.refused(now, retry_after));
}

#[tokio::test]
async fn a_permit_from_before_a_limit_was_found_is_no_longer_valid() {
    let gate = RateGate::new(None, WINDOW / 10);
    let permit = gate.acquire(1, Lane::Ahead).await;
    gate.answered();
    assert!(gate.is_valid(permit));
    reject_all(&gate, None);
    assert!(!gate.is_valid(permit), "no limit was known then");
    let permit = gate.acquire(1, Lane::Ahead).await;
    assert!(gate.is_valid(permit));
    reject_all(&gate, Some(WINDOW));
    assert!(!gate.is_valid(permit), "the endpoint sent Retry-After");
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_no_request_waits() {
    for gate in [RateGate::new(None, WINDOW), RateGate::new(Some(0), WINDOW)] {
        let begun = Instant::now();
        for _ in 0..10_000 {
            assert_eq!(gate.acquire(1_000, Lane::Ahead).await, RatePermit::Unlimited);
            gate.answered();
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert_eq!(gate.rate(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_the_operator_spaces_calls_also_those_of_a_batch() {
    let (gate, begun) = (RateGate::new(Some(10), WINDOW), Instant::now());
    for (calls, sent_after) in [(1, 0), (5, 100), (1, 600), (1, 700)] {
        assert_eq!(gate.acquire(calls, Lane::Block).await, RatePermit::Unlimited);
        assert_eq!(begun.elapsed(), Duration::from_millis(sent_after));
    }
}

#[tokio::test(start_paused = true)]
async fn the_lower_of_both_limits_holds() {
    let (gate, begun) = (RateGate::new(Some(10), WINDOW), Instant::now());
    gate.answered();
    reject_all(&gate, None);
    for _ in 0..5 {
        assert_eq!(gate.acquire(1, Lane::Ahead).await, RatePermit::Throttled);
    }
    let learned = begun.elapsed();
    assert!(learned > Duration::from_secs(4), "one request per second was learned: {learned:?}");
    for _ in 0..5 {
        let _ = gate.acquire(100, Lane::Ahead).await;
    }
    let limited = begun.elapsed() - learned;
    assert!(limited > Duration::from_secs(40), "100 calls take 10 seconds: {limited:?}");
}

#[test]
fn a_rate_does_not_grow_while_the_limit_of_the_operator_is_lower() {
    let mut state = State { interval: Duration::from_secs(1), ..State::default() };
    let begun = Instant::now();
    (0..100).for_each(|_| state.answered(begun));
    reject(&mut state, 4, None, begun);
    let (rate, mut now) = (state.rate, begun);
    assert!(rate.is_some());
    while now.duration_since(begun) < Duration::from_secs(300) {
        now = send(&mut state, now).max(now + Duration::from_millis(1));
        state.answered(now);
    }
    assert_eq!(state.rate, rate);
}

/// When each of many requests of a lane is sent.
async fn sent(gate: &RateGate, lane: Lane, requests: usize) -> Vec<Duration> {
    let begun = Instant::now();
    let send = async |_| {
        let _ = gate.acquire(1, lane).await;
        begun.elapsed()
    };
    futures::future::join_all((0..requests).map(send)).await
}

#[tokio::test(start_paused = true)]
async fn lanes_share_a_rate_by_weight_and_none_starves() {
    let gate = RateGate::new(Some(100), WINDOW);
    let (users, blocks, ahead, background) = tokio::join!(
        sent(&gate, Lane::User, 1_000),
        sent(&gate, Lane::Block, 1_000),
        sent(&gate, Lane::Ahead, 1_000),
        sent(&gate, Lane::Background, 1_000),
    );
    let soon = Duration::from_millis(2_099);
    let share = |times: &[Duration]| times.iter().filter(|time| **time <= soon).count();
    assert_eq!([&users, &blocks, &ahead, &background].map(|times| share(times)), [80, 80, 40, 10]);
    assert_eq!(background.last(), Some(&Duration::from_millis(39_990)), "no call is lost");
}

#[tokio::test(start_paused = true)]
async fn requests_of_users_wait_for_one_call_of_a_backfill() {
    let gate = RateGate::new(Some(10), WINDOW);
    let backfill = futures::future::join(sent(&gate, Lane::Ahead, 100), sent(&gate, Lane::Background, 100));
    let user = async {
        tokio::time::sleep(Duration::from_millis(5_001)).await;
        let begun = Instant::now();
        let _ = gate.acquire(1, Lane::User).await;
        begun.elapsed()
    };
    let (_, waited) = tokio::join!(backfill, user);
    assert!(waited <= Duration::from_millis(100), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_gives_up_takes_no_call() {
    let (gate, begun) = (RateGate::new(Some(10), WINDOW), Instant::now());
    let _ = gate.acquire(1, Lane::User).await;
    let impatient = tokio::time::timeout(Duration::from_millis(50), sent(&gate, Lane::User, 100));
    let (gave_up, _) = tokio::join!(impatient, gate.acquire(1, Lane::Background));
    assert!(gave_up.is_err());
    assert!(begun.elapsed() <= Duration::from_millis(110), "{:?}", begun.elapsed());
}
