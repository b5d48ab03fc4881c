//! Hostile sources.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use super::verifier_fixture::VerifierFixture;
use crate::support::{Stopwatch, permits};

const VERSION: &str = "0.8.20";
/// Deploys one byte, which no compiler produces, so that all candidate settings are tried.
pub(crate) const ONE_BYTE_CODE: &str = "6001600c60003960016000f300";

/// Each constant doubles the one before and is evaluated again each time: 2^30 steps in 800 bytes.
pub(crate) fn endless() -> String {
    let mut source = "contract C{uint constant a0=1;".to_owned();
    for step in 1..=30 {
        source += &format!("uint constant a{step}=a{p}+a{p};", p = step - 1);
    }
    source + "uint[a30] x;}"
}

fn nested() -> String {
    let depth = 990_000;
    format!("contract C{{uint x={}1{};}}", "(".repeat(depth), ")".repeat(depth))
}

fn many() -> String {
    (0..10_000).map(|number| format!("contract C{number}{{uint public x{number};}}\n")).collect()
}

#[tokio::test]
async fn hostile_sources_get_a_response_in_time_without_harm() {
    // Its compilers keep all processors busy.
    permits::alone();
    let fixture = VerifierFixture::start().await;
    let mut addresses = Vec::new();
    for _ in 0..4 {
        addresses.push(fixture.deploy(ONE_BYTE_CODE).await);
    }
    let sources = [
        ("stopped", endless()),
        ("recursion depth", nested()),
        ("", many()),
        ("not found", "import \"/etc/passwd\"; import \"file:///etc/hosts\"; contract C {}".to_owned()),
    ];
    // Whether the first source, which never compiles, has a response.
    let is_stopped = AtomicBool::new(false);
    let attempt = async |site: usize, address: &str, source: &str| -> (Value, Duration) {
        let body = json!({ "address": address, "sourceCode": source, "compilerVersion": VERSION });
        let watch = Stopwatch::start();
        let answer = fixture.post_from(&client_ip(site), "/api/v1/verify", &body).await;
        is_stopped.fetch_or(site == 0, Ordering::SeqCst);
        (answer.ok(), watch.elapsed())
    };
    let work = async {
        let all = addresses.iter().zip(&sources).enumerate();
        let jobs = all.map(|(site, (address, (_, source)))| attempt(site, address, source));
        join_all(jobs.collect()).await
    };
    let others = async {
        // Other routes work meanwhile, and no client verifies the same address twice at once.
        fixture.wait_for_queued(sources.len()).await;
        let body = json!({ "address": addresses[0], "sourceCode": "contract A {}", "compilerVersion": VERSION });
        let twice = fixture.post_from(&client_ip(0), "/api/v1/verify", &body).await;
        assert_eq!((twice.status, &twice.json["code"]), (409, &json!("verification_under_way")));
        for _ in 0..20 {
            fixture.explorer.json("/api/v1/blocks").await;
        }
        assert!(!is_stopped.load(Ordering::SeqCst), "they do not wait for the source that never compiles");
    };
    let (answers, ()) = tokio::join!(work, others);
    for ((expected_text, _), (answer, took)) in sources.iter().zip(&answers) {
        println!("{took:?}: {}", answer["message"]);
        assert_eq!(answer["success"], false, "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(expected_text), "{message}");
        assert!(!message.contains("root:"), "{message}");
        assert!(message.len() < 3_000, "{} characters", message.len());
        assert!(*took < Duration::from_secs(180), "{took:?}");
    }
    assert_eq!(fixture.explorer.json("/health").await["status"], "ok");
}

/// The IP address of the client with this number.
pub(crate) fn client_ip(number: usize) -> String {
    format!("203.0.113.{}", number + 1)
}

/// Runs a few requests concurrently.
pub(super) async fn join_all<T>(jobs: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut jobs: Vec<_> = jobs.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        for (job, done) in jobs.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(value) = job.as_mut().poll(context)
            {
                *done = Some(value);
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(done.iter_mut().map(|done| done.take().unwrap()).collect())
        } else {
            std::task::Poll::Pending
        }
    })
    .await
}

#[tokio::test]
async fn a_body_over_two_megabytes_is_not_read() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    let source = format!("contract A {{}} // {}", "x".repeat(2 << 20));
    let body = json!({ "address": address, "sourceCode": source, "compilerVersion": VERSION });
    assert_eq!(fixture.post("/api/v1/verify", &body).await.status, 413);
}

#[tokio::test]
async fn a_full_verification_queue_gets_503_and_stays_full_when_clients_leave() {
    // Its compilers keep all processors busy.
    permits::alone();
    /// Four run and 64 are queued.
    const ROOM: usize = 68;
    let fixture = VerifierFixture::start().await;
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    let ask = async |site: usize, source: String| {
        let body = json!({ "address": address, "sourceCode": source, "compilerVersion": VERSION });
        fixture.post_from(&client_ip(site), "/api/v1/verify", &body).await
    };
    // Equal requests would share one verification.
    let crowd = (0..=ROOM).map(|site| ask(site, format!("{}// {site}", endless()))).collect();
    let answer = first_of(crowd).await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &json!("verifier_busy")), "{}", answer.json);
    assert!(answer.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0));

    // The other connections are closed, but their verifications go on: each runs for half a minute.
    let answer = ask(ROOM + 1, "contract A {}".to_owned()).await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &json!("verifier_busy")), "{}", answer.json);
    assert_eq!(fixture.explorer.json("/health").await["status"], "ok");
}

/// The first response; the other requests are cancelled.
async fn first_of<T>(jobs: Vec<impl Future<Output = T>>) -> T {
    let mut jobs: Vec<_> = jobs.into_iter().map(Box::pin).collect();
    std::future::poll_fn(move |context| {
        let first = jobs.iter_mut().find_map(|job| match job.as_mut().poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        });
        first.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
    })
    .await
}
