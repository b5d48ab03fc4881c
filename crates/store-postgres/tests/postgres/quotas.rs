//! Requests that two processes count together.

use std::time::{Duration, Instant};

use store::{QuotaCaller, QuotaLeft, SharedQuotas};
use store_postgres::PostgresQuotas;

use crate::server::{Server, open};

const MINUTE: Duration = Duration::from_secs(60);

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
