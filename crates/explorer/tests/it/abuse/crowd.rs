//! Attackers in everything at once, from one address and from fifty, beside honest clients of the API, the dialects, the pages and
//! of verification.
//!
//! The attackers and the node have threads of the lowest priority: what they do takes no time from the honest clients, as if they ran
//! on other machines. What remains is what the explorer does for the attackers.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use alloy_primitives::{TxKind, U256, hex};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    runtime::{Builder, Handle, Runtime},
};

use super::{Scene, client_address, with_default_limits};
use crate::{
    contracts::verifier_fixture::{COIN, code_of, compile, compilers, input, word},
    support::{
        DevNode,
        client::Client,
        faulty_node::{FaultyNode, Script},
        permits,
    },
};

const VERSION: &str = "0.8.20";
/// Contracts that are verified: the first one while compilers are unpacked, one without and one with the attack.
const VERIFIED: usize = 3;
/// Machines are noisy: below these, it is not the attack. On a quiet one, the p99 is 14 ms with it.
const FLOOR: Duration = Duration::from_millis(100);
/// A verification waits for those of others that have begun, and each starts a compiler.
const VERIFICATION_FLOOR: Duration = Duration::from_secs(60);
/// Honest clients in a measurement. Each asks for everything once, so that none reaches a limit.
const CLIENTS: u16 = 60;

/// Threads that run when nobody else wants to.
struct LastInLine(Option<Runtime>);

impl LastInLine {
    fn start() -> Self {
        let lower = || rustix::process::setpriority_process(None, 19).unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(2).on_thread_start(lower).enable_all().build();
        Self(Some(runtime.unwrap()))
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().unwrap().handle()
    }
}

impl Drop for LastInLine {
    fn drop(&mut self) {
        self.0.take().unwrap().shutdown_background();
    }
}

/// A contract that is not verified yet.
struct Unverified {
    address: String,
    source: String,
}

/// A chain with contracts to verify, and an explorer with compilers.
async fn scene(last: &LastInLine) -> (Scene, Vec<Unverified>) {
    let sources: Vec<String> =
        (0..VERIFIED).map(|number| COIN.replace("only the owner", &format!("only the owner {number}"))).collect();
    let settings = json!({ "optimizer": { "enabled": true, "runs": 200 } });
    let inputs = sources.iter().map(|source| input("Coin.sol", source, &settings)).collect();
    let outputs = compile(VERSION, inputs).await;
    let codes: Vec<Vec<u8>> =
        outputs.iter().map(|output| hex::decode(code_of(output, "Coin.sol", "Coin") + &word(7)).unwrap()).collect();
    let made = last.handle().spawn(async move {
        let (chain, _) = DevNode::with_traffic(2_500).await;
        let mut addresses = Vec::new();
        for code in codes {
            let sent = chain.chain.send(0, TxKind::Create, U256::ZERO, code).unwrap();
            chain.chain.mine(None);
            let created = chain.chain.receipt(sent).unwrap().transaction().created.unwrap();
            addresses.push(format!("{created:#x}"));
        }
        let node = FaultyNode::start(&chain.chain, 1, Script::default()).await;
        (chain, node, addresses)
    });
    let (chain, node, addresses) = made.await.unwrap();
    let launch = with_default_limits(&node.url()).argument("--compiler-source", compilers().display());
    let explorer = launch.start().await;
    node.wait_for(&explorer).await;
    let unverified =
        addresses.into_iter().zip(sources).map(|(address, source)| Unverified { address, source }).collect();
    (Scene { chain, node, explorer }, unverified)
}

/// What honest clients noticed.
#[derive(Debug, Clone, Copy)]
struct Noticed {
    /// The slowest of a hundred requests, but for the slowest one.
    p99: Duration,
    median: Duration,
    verification: Duration,
}

impl Noticed {
    async fn by_clients(scene: &Scene, first_client: u16, contract: &Unverified) -> Self {
        let account = format!("{:#x}", scene.chain.account(2));
        let paths = [
            "/api/v1/stats".to_owned(),
            "/api/v1/blocks".to_owned(),
            format!("/api/v1/transactions?address={account}"),
            "/api?module=gastracker&action=gasoracle".to_owned(),
            format!("/api?module=account&action=txlist&address={account}&offset=25"),
            "/sourcify/chains".to_owned(),
            "/blocks".to_owned(),
            format!("/address/{account}"),
        ];
        let verifying = scene.client(first_client);
        let verification = verify(&verifying, contract);
        let requests = async {
            let mut times = Vec::new();
            for number in 1..=CLIENTS {
                let client = scene.client(first_client + number);
                for path in &paths {
                    let started = Instant::now();
                    let answer = client.get(path).await;
                    times.push((started.elapsed(), path));
                    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
                    assert!(!answer.text.contains("rate limit"), "an honest request was refused: {}", answer.text);
                }
            }
            times
        };
        let (verification, mut times) = tokio::join!(verification, requests);
        times.sort_unstable();
        println!("slowest: {:?}", &times[times.len() - 8..]);
        Self { p99: times[times.len() - 1 - times.len() / 100].0, median: times[times.len() / 2].0, verification }
    }
}

async fn verify(client: &Client, contract: &Unverified) -> Duration {
    let body =
        json!({ "address": contract.address, "sourceCode": contract.source, "compilerVersion": VERSION }).to_string();
    let request = client.request("POST", "/api/v1/verify").header("Content-Type", "application/json");
    let started = Instant::now();
    let answer = client.send(request.body(body)).await;
    let took = started.elapsed();
    assert_eq!((answer.status, &answer.json["success"]), (200, &Value::Bool(true)), "{}", answer.text);
    took
}

#[derive(Clone)]
enum Attack {
    Get(String),
    /// Asks and does not read the response.
    ReadNothing(String),
    LongForm,
    /// Asks for the same again and again on one connection, without waiting for responses.
    Flood(String),
    /// A verification that takes as long as it may.
    Verify(String),
}

/// Requests that cost more than they counted, or that count nothing.
fn attacks(scene: &Scene, contract: &str) -> Vec<Attack> {
    let account = format!("{:#x}", scene.chain.account(1));
    let topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let paths = [
        format!("/api?module=account&action=txlist&address={account}"),
        format!("/api?module=account&action=tokentx&address={account}"),
        format!("/api?module=account&action=token1155tx&address={account}&offset=1"),
        format!("/api?module=logs&action=getLogs&topic0={topic}&topic1={topic}&topic0_1_opr=or"),
        format!("/api?module=contract&action=checkproxyverification&guid={}", &account[2..]),
        "/api?module=proxy&action=eth_call&data=0x5b600056&gas=0xffffffffffff".to_owned(),
        "/api/v1/openapi.json".to_owned(),
        format!("/address/{account}"),
        "/sitemap/blocks-0.xml".to_owned(),
    ];
    let floods = ["/api/v1/stats".to_owned(), paths[0].clone(), paths[7].clone(), "/nowhere".to_owned()];
    let others = [Attack::ReadNothing(paths[0].clone()), Attack::LongForm, Attack::Verify(contract.to_owned())];
    let gets = paths.into_iter().map(Attack::Get);
    gets.chain(floods.into_iter().map(Attack::Flood)).chain(others).collect()
}

/// One attacker, with an address of its own or one that it shares.
struct Attacker {
    client: Client,
    address: Ipv4Addr,
    sent: Arc<AtomicUsize>,
}

impl Attacker {
    async fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((self.address, 0).into())?;
        socket.set_recv_buffer_size(2_048)?;
        socket.connect(self.client.host().parse().unwrap()).await
    }

    /// Errors are what it deserves.
    async fn run(&self, attack: &Attack) -> std::io::Result<()> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        match attack {
            Attack::Get(path) => {
                if let Ok(response) = self.client.request("GET", path).send().await {
                    drop(response.bytes().await);
                }
            }
            Attack::ReadNothing(path) => {
                let mut stream = self.connect().await?;
                stream.write_all(head(path).as_bytes()).await?;
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            Attack::LongForm => {
                let form = format!("module=contract&action=verifysourcecode&sourceCode={}", "a%20".repeat(1 << 20));
                let request =
                    self.client.request("POST", "/api").header("Content-Type", "application/x-www-form-urlencoded");
                drop(request.body(form).send().await);
            }
            Attack::Flood(path) => {
                let (mut reader, mut writer) = self.connect().await?.into_split();
                let requests = head(path).repeat(20);
                let reading = tokio::spawn(async move {
                    let mut read = vec![0; 1 << 16];
                    while reader.read(&mut read).await.is_ok_and(|length| length > 0) {}
                });
                for _ in 0..100 {
                    writer.write_all(requests.as_bytes()).await?;
                    self.sent.fetch_add(20, Ordering::Relaxed);
                }
                drop(writer);
                drop(reading.await);
            }
            Attack::Verify(contract) => {
                let source = "contract C { function f() public {} }";
                let body = json!({ "address": contract, "sourceCode": source, "compilerVersion": VERSION });
                let request = self.client.request("POST", "/api/v1/verify");
                let request = request.header("Content-Type", "application/json").header("Prefer", "respond-async");
                drop(request.body(body.to_string()).send().await);
            }
        }
        Ok(())
    }
}

fn head(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// Fifty attackers at once, each with an address of its own or all with the same.
async fn attack(from_one_address: bool) {
    permits::alone();
    let last = LastInLine::start();
    let (scene, contracts) = scene(&last).await;
    let [first, second, third] = contracts.as_slice() else { panic!("{VERIFIED} contracts") };
    verify(&scene.client(1), first).await;
    let quiet = Noticed::by_clients(&scene, 2_000, second).await;
    let memory = scene.explorer.resident_megabytes();
    let (is_over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let attacks = attacks(&scene, &third.address);
    let attackers: Vec<_> = (0..50)
        .map(|number| {
            let client_number = if from_one_address { 3_000 } else { 3_000 + number };
            let (client, address) = (scene.client(client_number), client_address(client_number));
            let attacker = Attacker { client, address, sent: Arc::clone(&sent) };
            let is_over = Arc::clone(&is_over);
            let attack = attacks[usize::from(number) % attacks.len()].clone();
            last.handle().spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    if attacker.run(&attack).await.is_err() {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
            })
        })
        .collect();
    // Already while nobody is refused.
    let attacked = Noticed::by_clients(&scene, 4_000, third).await;
    is_over.store(true, Ordering::Relaxed);
    let sent = sent.load(Ordering::Relaxed);
    attackers.iter().for_each(tokio::task::JoinHandle::abort);
    let grown = scene.explorer.resident_megabytes().saturating_sub(memory);
    println!("{quiet:?} without, {attacked:?} with the attack of {sent} requests, {grown} MB more");
    assert!(sent > 1_000, "{sent} requests are no attack");
    for (with, without) in [(attacked.p99, quiet.p99), (attacked.median, quiet.median)] {
        assert!(with <= (3 * without).max(FLOOR), "{attacked:?}, and {quiet:?} without {sent} requests");
    }
    let allowed = (3 * quiet.verification).max(VERIFICATION_FLOOR);
    assert!(attacked.verification <= allowed, "{attacked:?}, and {quiet:?} without {sent} requests");
    assert!(grown < 300, "{grown} MB more");
}

#[tokio::test]
async fn honest_clients_notice_little_of_fifty_attackers() {
    attack(false).await;
}

#[tokio::test]
async fn honest_clients_notice_little_of_one_attacker_with_fifty_connections() {
    attack(true).await;
}
