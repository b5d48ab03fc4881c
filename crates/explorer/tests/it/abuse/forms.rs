//! Long forms, which take a while to parse.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::{io::AsyncWriteExt, net::TcpSocket};

use super::{Scene, cost, is_refused};
use crate::support::{Stopwatch, client::Answer, client::Client, eventually, key_request::KeyRequest};

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

/// Forms that are sent slowly by as many clients as there are places for long bodies.
#[tokio::test]
async fn slow_senders_of_long_forms_lock_nobody_out() {
    let scene = Scene::with(50).await;
    let mut slow = Vec::new();
    for number in 0..40 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 2, 1, number), 0))).unwrap();
        let mut stream = socket.connect(scene.explorer.client().host().parse().unwrap()).await.unwrap();
        let head = format!(
            "POST /api HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {LONG}\r\n\r\n"
        );
        stream
            .write_all(format!("{head}module=contract&action=verifysourcecode&sourceCode=").as_bytes())
            .await
            .unwrap();
        slow.push(stream);
    }
    // Each client tries until it has a place: the slow ones lose theirs long before their time is over.
    let watch = Stopwatch::start();
    for number in 0..3 {
        eventually("a place for a form", async || {
            let answer = post(&scene.client(number), form("", 200 << 10)).await;
            (answer.status != 429 && !is_refused(&answer)).then_some(())
        })
        .await;
    }
    watch.assert_within(8);
    drop(slow);
}
