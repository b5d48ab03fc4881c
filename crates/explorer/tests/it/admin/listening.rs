//! Where the admin interface listens, and who may use it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use crate::support::{
    DevNode, Launch, TestExplorer,
    admin::{Metrics, over_socket},
    client::{Answer, Client},
    eventually,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn get(client: &Client, authorization: Option<&str>) -> Answer {
    let mut request = client.request("GET", "/metrics");
    if let Some(authorization) = authorization {
        request = request.header("Authorization", authorization);
    }
    client.send(request).await
}

/// A client of the port on which the admin interface listens.
async fn admin_client(explorer: &TestExplorer) -> Client {
    let address = eventually("the port in the log", async || {
        let log = explorer.log();
        let line = log.lines().find(|line| line.contains("the admin interface listens on a port"))?.to_owned();
        Some(line.split("address=").nth(1)?.split_whitespace().next()?.to_owned())
    });
    Client::new(format!("http://{}", address.await))
}

#[tokio::test]
async fn only_the_owner_can_use_the_socket_and_a_killed_process_leaves_no_trouble() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let socket = explorer.data().path().join("admin.sock");
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(over_socket(&socket, "GET", "/nowhere").await.0, 404);
    assert_eq!(over_socket(&socket, "POST", "/metrics").await.0, 405);

    let (status, message) = Launch::run(&node.url()).on(explorer.data()).fails_to_start().await;
    assert!(!status.success() && message.contains("another explorer has"), "{message}");
    assert!(Metrics::at(&socket).await.get("explorer_build_info{version=\"0.1.0\"}") > 0.0, "it still answers");
    let other = Launch::run(&node.url()).argument("--admin-socket", socket.display());
    let (status, message) = other.fails_to_start().await;
    assert_eq!(status.code(), Some(1));
    assert!(message.contains("another process uses the admin socket"), "{message}");

    let data = explorer.kill();
    assert!(socket.exists(), "left behind by the killed process");
    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    Metrics::at(&socket).await;
    explorer.stop().await;
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_long_path_is_refused_if_it_was_asked_for_and_else_reported() {
    let node = DevNode::start().await;
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("a".repeat(100));
    let (status, message) = Launch::run(&node.url()).argument("--admin-socket", long.display()).fails_to_start().await;
    assert_eq!(status.code(), Some(1));
    assert!(message.contains("bytes") && message.contains("admin socket"), "{message}");

    let explorer = TestExplorer::start_on(&node.url(), long.as_path()).await;
    explorer.wait_for_log("--admin-socket").await;
    node.wait_for(&explorer).await;
    assert!(!long.join("admin.sock").exists());
}

#[tokio::test]
async fn the_token_for_metrics_reads_metrics_alone_and_guesses_are_slow() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--admin-listen", "127.0.0.1:0").start().await;
    let client = admin_client(&explorer).await;
    let file = explorer.data().path().join("metrics.token");
    assert_eq!(mode(&file), 0o600);
    let token = format!("Bearer {}", fs::read_to_string(&file).unwrap().trim());
    assert_eq!(get(&client, Some(&token)).await.status, 200);
    let reload = client.request("POST", "/reload").header("Authorization", &token);
    assert_eq!(client.send(reload).await.status, 401, "it changes nothing");

    let started = Instant::now();
    let guesses = (0..6).map(|number| {
        let client = client.clone();
        async move { get(&client, Some(&format!("Bearer guess{number}"))).await.status }
    });
    let guessing = tokio::spawn(futures::future::join_all(guesses.collect::<Vec<_>>()));
    assert_eq!(get(&client, Some(&token)).await.status, 200, "who has the token does not wait");
    assert!(guessing.await.unwrap().iter().all(|status| *status == 401));
    assert!(started.elapsed() >= Duration::from_secs(2), "six guesses in {:?}", started.elapsed());
}

#[tokio::test]
async fn the_port_requires_the_token() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--admin-listen", "127.0.0.1:0").start().await;
    let client = admin_client(&explorer).await;
    let file = explorer.data().path().join("admin.token");
    assert_eq!(mode(&file), 0o600);
    let token = fs::read_to_string(&file).unwrap().trim().to_owned();
    for wrong in [None, Some(""), Some("Bearer x"), Some(token.as_str()), Some("Bearer 0000000000000000")] {
        let refused = get(&client, wrong).await;
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, "Bearer"), "{wrong:?}");
        assert!(!refused.text.contains("explorer_"), "{}", refused.text);
    }
    assert_eq!(
        client.get("/nowhere").await.status,
        401,
        "without a token, the response does not reveal which paths exist"
    );
    let answer = get(&client, Some(&format!("Bearer {token}"))).await;
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let over_port = Metrics::parse(answer.text);
    assert_eq!(over_port.names(), Metrics::of(explorer.data().path()).await.names());
    assert!(!explorer.log().contains(&token));

    let (_, data) = explorer.stop().await;
    let explorer = Launch::run(&node.url()).argument("--admin-listen", "127.0.0.1:0").on(&data).start().await;
    let answer = get(&admin_client(&explorer).await, Some(&format!("Bearer {token}"))).await;
    assert_eq!(answer.status, 200, "the token stays the same");
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_token_file() {
    let node = DevNode::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let launch = |address: &str| Launch::run(&node.url()).argument("--admin-listen", address);
    let failure = async |launch: Launch| {
        let (status, message) = launch.fails_to_start().await;
        assert_eq!(status.code(), Some(1), "{message}");
        message
    };
    assert!(failure(launch("0.0.0.0:0")).await.contains("--admin-token-file"));
    let with_file = |address: &str| launch(address).argument("--admin-token-file", file.display());
    assert!(failure(with_file("0.0.0.0:0")).await.contains("cannot read the admin token"));
    fs::write(&file, "short\n").unwrap();
    assert!(failure(with_file("0.0.0.0:0")).await.contains("at least 16"));
    let alone = Launch::run(&node.url()).argument("--admin-token-file", file.display());
    assert!(failure(alone).await.contains("--admin-listen"));

    fs::write(&file, "correct-horse-battery\n").unwrap();
    let explorer = with_file("0.0.0.0:0").start().await;
    let client = admin_client(&explorer).await;
    assert_eq!(get(&client, None).await.status, 401);
    assert_eq!(get(&client, Some("Bearer correct-horse-battery")).await.status, 200);
    assert!(!explorer.data().path().join("admin.token").exists());
}
