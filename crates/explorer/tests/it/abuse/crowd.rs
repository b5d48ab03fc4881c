//! Attackers in everything at once, from one address and from fifty, beside honest clients.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{io::AsyncWriteExt, net::TcpSocket};

use super::{Scene, client_address};
use crate::support::{client::Client, permits};

/// What an honest client asks for, once each.
const HONEST: [&str; 5] =
    ["/api/v1/stats", "/api/v1/blocks", "/blocks", "/api?module=gastracker&action=gasoracle", "/sourcify/chains"];
/// Machines are noisy: below this, it is not the attack.
const FLOOR: Duration = Duration::from_millis(400);

/// The slowest of a hundred requests, but for the slowest one.
async fn p99(scene: &Scene, first_client: u16) -> Duration {
    let mut times = Vec::new();
    for number in 0..20 {
        let client = scene.client(first_client + number);
        for path in HONEST {
            let started = Instant::now();
            let answer = client.get(path).await;
            times.push(started.elapsed());
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            assert!(!answer.text.contains("rate limit"), "an honest request was refused: {}", answer.text);
        }
    }
    times.sort_unstable();
    times[times.len() - 2]
}

/// Requests that used to cost much more than they counted.
fn attacks(scene: &Scene) -> Vec<Attack> {
    let account = format!("{:#x}", scene.chain.account(1));
    let topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let paths = [
        format!("/api?module=account&action=txlist&address={account}"),
        format!("/api?module=account&action=tokentx&address={account}"),
        format!("/api?module=logs&action=getLogs&topic0={topic}&topic1={topic}&topic0_1_opr=or"),
        format!("/api?module=contract&action=checkproxyverification&guid={}", &account[2..]),
        "/api?module=proxy&action=eth_call&data=0x5b600056&gas=0xffffffffffff".to_owned(),
        "/api/v1/openapi.json".to_owned(),
        format!("/address/{account}"),
    ];
    let reading_nothing = Attack::ReadNothing(paths[0].clone());
    paths.into_iter().map(Attack::Get).chain([reading_nothing, Attack::LongForm]).collect()
}

#[derive(Clone)]
enum Attack {
    Get(String),
    /// Asks and does not read the response.
    ReadNothing(String),
    LongForm,
}

impl Attack {
    async fn run(&self, client: &Client, address: Ipv4Addr) {
        match self {
            Self::Get(path) => {
                if let Ok(response) = client.request("GET", path).send().await {
                    drop(response.bytes().await);
                }
            }
            Self::ReadNothing(path) => {
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind((address, 0).into()).unwrap();
                socket.set_recv_buffer_size(2_048).unwrap();
                let mut stream = socket.connect(client.host().parse().unwrap()).await.unwrap();
                // The explorer may close the connection at once.
                let _ = stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await;
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            Self::LongForm => {
                let form = format!("module=contract&action=verifysourcecode&sourceCode={}", "a%20".repeat(1 << 20));
                let request =
                    client.request("POST", "/api").header("Content-Type", "application/x-www-form-urlencoded");
                // It may be refused before all of it is sent.
                drop(request.body(form).send().await);
            }
        }
    }
}

/// Fifty attackers at once, each with an address of its own or all with the same.
async fn attack(from_one_address: bool) {
    permits::alone();
    let scene = Scene::with(2_500).await;
    // Other work on the machine that begins or ends meanwhile: the best of three counts.
    let mut failures = Vec::new();
    for round in 0..3 {
        match attack_once(&scene, from_one_address, 100 * round).await {
            Ok(()) => return,
            Err(failure) => failures.push(failure),
        }
    }
    panic!("{failures:#?}");
}

/// Honest clients are counted from this number on, so that none is limited for requests of another round.
async fn attack_once(scene: &Scene, from_one_address: bool, first_client: u16) -> Result<(), String> {
    let quiet = p99(scene, 2_000 + first_client).await;
    let memory = scene.explorer.resident_megabytes();
    let (is_over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let attacks = attacks(scene);
    let attackers: Vec<_> = (0..50)
        .map(|number| {
            let client_number = if from_one_address { 3_000 } else { 3_000 + number };
            let (client, address) = (scene.client(client_number), client_address(client_number));
            let (is_over, sent) = (Arc::clone(&is_over), Arc::clone(&sent));
            let attack = attacks[usize::from(number) % attacks.len()].clone();
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    attack.run(&client, address).await;
                    sent.fetch_add(1, Ordering::Relaxed);
                    // The attackers share the machine with what they attack.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let attacked = p99(scene, 4_000 + first_client).await;
    is_over.store(true, Ordering::Relaxed);
    futures::future::join_all(attackers).await;
    let sent = sent.load(Ordering::Relaxed);
    let grown = scene.explorer.resident_megabytes().saturating_sub(memory);
    println!("p99 {quiet:?} without, {attacked:?} with the attack of {sent} requests, {grown} MB more");
    assert!(sent > 100, "{sent} requests are no attack");
    assert!(grown < 300, "{grown} MB more");
    match attacked <= (3 * quiet).max(FLOOR) {
        true => Ok(()),
        false => Err(format!("{attacked:?}, and {quiet:?} without the attack of {sent} requests")),
    }
}

#[tokio::test]
async fn honest_clients_notice_little_of_fifty_attackers() {
    attack(false).await;
}

#[tokio::test]
async fn honest_clients_notice_little_of_one_attacker_with_fifty_connections() {
    attack(true).await;
}
