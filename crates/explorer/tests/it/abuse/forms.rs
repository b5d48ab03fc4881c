//! Long forms, which take a while to parse.

use super::{Scene, cost, is_refused};
use crate::support::{Stopwatch, client::Answer, client::Client, key_request::KeyRequest};

const LONG: usize = 7 << 20;

async fn post(client: &Client, form: String) -> Answer {
    let request = client.request("POST", "/api").header("Content-Type", "application/x-www-form-urlencoded");
    client.send(request.body(form)).await
}

fn form(key: &str, bytes: usize) -> String {
    let source = "a%20".repeat(bytes / 4);
    format!("{key}module=contract&action=verifysourcecode&sourceCode={source}")
}

#[tokio::test]
async fn a_long_form_is_paid_for_before_it_is_parsed() {
    let scene = Scene::with(50).await;
    let client = scene.client(1);
    let first = post(&client, form("", LONG)).await;
    assert!(!is_refused(&first), "{}", first.text);
    assert_eq!(cost(&first), 8, "for its megabytes, of which the last one is not full");
    assert!(is_refused(&post(&client, form("", LONG)).await), "too little is left");
    while client.get("/api/v1/stats").await.status == 200 {}
    // Nothing is left: it is refused by its beginning.
    let watch = Stopwatch::start();
    let refused = post(&client, form("", LONG)).await;
    assert!(is_refused(&refused), "{}", refused.text);
    watch.assert_within(5);

    let misused = post(&scene.client(2), form("", LONG).replace("verifysourcecode", "txlist")).await;
    assert!(misused.text.contains("too long for this action"), "{}", misused.text);
}

#[tokio::test]
async fn a_key_in_a_long_form_counts_though_the_address_is_above_its_limit() {
    let scene = Scene::with(50).await;
    let client = scene.client(1);
    let key = KeyRequest::by(&scene.chain.chain.accounts()[0]).key(&client).await;
    while client.get("/api/v1/stats").await.status == 200 {}
    let answer = post(&client, form(&format!("apikey={key}&"), LONG)).await;
    assert!(!is_refused(&answer), "{}", answer.text);
    assert_eq!(answer.header("x-ratelimit-limit"), "100");
}
