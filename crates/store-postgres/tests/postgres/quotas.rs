//! Requests that two processes count together.

use std::time::{Duration, Instant};

use store::{QuotaCaller, QuotaLeft, SharedQuotas};
use store_postgres::PostgresQuotas;

use crate::server::{Server, open};

const MINUTE: Duration = Duration::from_secs(60);
/// Times of the server are in microseconds.
const EXACT: Duration = Duration::from_millis(1);

fn caller(name: &str, limit: u32) -> QuotaCaller {
    QuotaCaller { name: name.into(), limit }
}

/// How many of so many concurrent requests are allowed.
async fn allowed(quotas: &[&PostgresQuotas], requests: usize, callers: &[QuotaCaller]) -> usize {
    let requests = (0..requests).map(|number| quotas[number % quotas.len()].take(callers, 1, MINUTE));
    let results = futures::future::join_all(requests).await;
    results.into_iter().filter(|used| used.as_ref().unwrap().allowed).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_allow_as_many_requests_as_one_would() {
    let server = Server::shared();
    let url = server.database().await;
    let (one, two) = (open(&url).await.quotas(), open(&url).await.quotas());
    assert_eq!(allowed(&[&one, &two], 50, &[caller("a", 10)]).await, 10);
    assert_eq!(allowed(&[&one, &two], 50, &[caller("b", 10)]).await, 10, "each caller has its own");
    assert_eq!(allowed(&[&two], 5, &[caller("a", 12)]).await, 2, "the limit was raised");
    assert_eq!(allowed(&[&one], 5, &[caller("a", 3)]).await, 0, "the limit was lowered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_counted_for_all_its_callers_or_for_none() {
    let server = Server::shared();
    let url = server.database().await;
    let (one, two) = (open(&url).await.quotas(), open(&url).await.quotas());
    let both = [caller("key", 5), caller("client", 3)];
    assert_eq!(allowed(&[&one, &two], 20, &both).await, 3);
    let left = one.peek(&both, MINUTE).await.unwrap().left;
    assert_eq!(left.iter().map(|left| left.remaining).collect::<Vec<_>>(), [2, 0]);
    assert!(left.iter().all(|left| left.until_more > MINUTE - Duration::from_secs(50) && left.until_more <= MINUTE));
    let other = two.take(&[caller("key", 5), caller("another client", 3)], 1, MINUTE).await.unwrap();
    assert!(other.allowed);
    assert_eq!(other.left.iter().map(|left| left.remaining).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dear_request_counts_as_often_as_it_costs() {
    let server = Server::shared();
    let url = server.database().await;
    let (one, two) = (open(&url).await.quotas(), open(&url).await.quotas());
    let callers = [caller("a", 10)];
    assert_eq!(one.take(&callers, 7, MINUTE).await.unwrap().left[0].remaining, 3);
    let refused = two.take(&callers, 4, MINUTE).await.unwrap();
    assert!(!refused.allowed && refused.left[0].remaining == 3, "{refused:?}");
    assert!(refused.left[0].until_more > MINUTE - Duration::from_secs(50), "{refused:?}");
    assert_eq!(allowed(&[&one, &two], 9, &callers).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_count_for_one_window_and_peek_counts_none() {
    let server = Server::shared();
    let url = server.database().await;
    let quotas = open(&url).await.quotas();
    let mut window = Duration::from_secs(2);
    // A machine on which the window is over before the last request needs a longer one.
    for name in ["a", "b", "c", "d", "e", "f"] {
        window *= 2;
        let callers = [caller(name, 2)];
        let unused = quotas.peek(&callers, window).await.unwrap();
        assert_eq!(unused.left, [QuotaLeft { remaining: 2, until_more: Duration::ZERO }]);
        let started = Instant::now();
        assert!(quotas.take(&callers, 1, window).await.unwrap().allowed);
        tokio::time::sleep(window / 4).await;
        assert!(quotas.take(&callers, 1, window).await.unwrap().allowed);
        let full = quotas.take(&callers, 1, window).await.unwrap();
        if started.elapsed() >= window {
            continue;
        }
        assert!(!full.allowed);
        assert!(full.left[0].until_more <= window - window / 4, "{full:?}");
        tokio::time::sleep(full.left[0].until_more).await;
        let next = quotas.take(&callers, 1, window).await.unwrap();
        assert!(next.allowed, "the first request expired: {next:?}");
        return;
    }
    panic!("no window was long enough");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_caller_needs_less_than_a_round_trip_for_ten_requests() {
    // Nobody else writes there.
    let server = Server::start();
    let url = server.database().await;
    let quotas = open(&url).await.quotas();
    let client = server.connect(&url).await;
    let writes = async || {
        let row = client.query_one("select pg_snapshot_xmax(pg_current_snapshot())::text::int8", &[]).await.unwrap();
        row.get::<_, i64>(0)
    };
    for (limit, requests) in [(100, 100), (6_000, 3_000)] {
        let callers = [caller(&format!("a caller with {limit}"), limit)];
        let before = writes().await;
        for number in 0..requests {
            let used = quotas.take(&callers, 1, MINUTE).await.unwrap();
            assert!(used.allowed);
            assert_eq!(used.left[0].remaining, limit - number - 1);
            assert!(
                used.left[0].until_more > MINUTE - Duration::from_secs(40) && used.left[0].until_more <= MINUTE + EXACT
            );
        }
        let written = writes().await - before;
        assert!(written > 1 && written * 10 < i64::from(requests), "{written} for {requests} requests");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_process_has_leased_another_one_gets() {
    let server = Server::shared();
    let url = server.database().await;
    let (one, two, three) = (open(&url).await.quotas(), open(&url).await.quotas(), open(&url).await.quotas());
    for number in 0..6 {
        let callers = [caller(&format!("caller {number}"), 100)];
        // Each but the last is busy, and has a lease then.
        let busy = allowed(&[&one], 40, &callers).await + allowed(&[&two], 25, &callers).await;
        assert_eq!(busy, 65);
        let last = allowed(&[&three], 50, &callers).await;
        assert!(last <= 35, "{last}");
        // A machine on which a lease is not returned in time needs another try.
        if last == 35 {
            assert_eq!(allowed(&[&one, &two, &three], 9, &callers).await, 0);
            return;
        }
    }
    panic!("the first requests of a caller are not all allowed if several processes get them");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_keeps_its_lease_until_it_is_over() {
    let server = Server::shared();
    let url = server.database().await;
    let window = Duration::from_secs(6);
    let callers = [caller("a", 100)];
    let (killed, other) = (open(&url).await.quotas(), open(&url).await.quotas());
    let started = Instant::now();
    for _ in 0..30 {
        assert!(killed.take(&callers, 1, window).await.unwrap().allowed);
    }
    // It returns nothing.
    drop(killed);
    let mut used = 30;
    while used < 101 && other.take(&callers, 1, window).await.unwrap().allowed {
        used += 1;
    }
    // A machine on which this takes a window proves nothing.
    if started.elapsed() < window {
        assert!((80..100).contains(&used), "{used}: what the lease holds counts as used");
    }
    tokio::time::sleep(window + window / 6 + Duration::from_millis(50)).await;
    for _ in 0..100 {
        assert!(other.take(&callers, 1, window).await.unwrap().allowed, "the lease is over");
    }
}

/// Requests at random times at random processes, which all end within a window: no more than the limit are allowed.
#[tokio::test(flavor = "multi_thread")]
async fn no_window_has_more_than_the_limit() {
    let server = Server::shared();
    let url = server.database().await;
    let (limit, window) = (60, Duration::from_secs(3));
    let callers = [caller("a", limit)];
    let processes = [open(&url).await.quotas(), open(&url).await.quotas(), open(&url).await.quotas()];
    let started = Instant::now();
    let clients = (0..12_u64).map(async |client| {
        let mut random = client + 1;
        let mut allowed = Vec::new();
        while started.elapsed() < window * 4 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let process = &processes[usize::try_from(random >> 40).unwrap() % processes.len()];
            let sent = Instant::now();
            if process.take(&callers, 1, window).await.unwrap().allowed {
                allowed.push((sent, Instant::now()));
            }
            tokio::time::sleep(Duration::from_millis(random >> 33 & 0x7f)).await;
        }
        allowed
    });
    let mut allowed = futures::future::join_all(clients).await.concat();
    allowed.sort_unstable();
    // Each was allowed between the two times.
    for requests in allowed.windows(limit as usize + 1) {
        let last = requests.iter().map(|(_, answered)| *answered).max().unwrap();
        assert!(last - requests[0].0 > window, "{limit} in {window:?}");
    }
    // Each window but the first begins when requests of the one before expire.
    assert!(allowed.len() > 2 * limit as usize, "{}", allowed.len());
    assert!(allowed.len() <= 5 * limit as usize, "{}", allowed.len());
}
