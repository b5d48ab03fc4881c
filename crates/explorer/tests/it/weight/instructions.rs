//! The instructions of hot paths, counted by callgrind in the real binary: what a change costs, however busy the machine is.
//!
//! `instructions.txt` has what is known. If a path needs more because it does more, write the new counts there, which a failure prints:
//! then the price is part of the change. A failure also names a profile for `callgrind_annotate`.

use std::{collections::BTreeMap, fmt::Write, path::PathBuf, process::Command, time::Duration};

use alloy_primitives::{TxKind, U256};
use devchain::traffic::Traffic;
use serde_json::json;

use crate::{
    support::{
        DevNode, TestExplorer,
        client::{Client, Events},
        eventually,
        fixture::lower_hex,
        permits, process,
        receiver::Receiver,
    },
    webhooks,
};

const KNOWN: &str = include_str!("instructions.txt");
/// What may be more or less by chance. Most paths differ by 1% between runs, some by up to 22%, for reasons that are not known yet.
const TOLERANCE: f64 = 0.5;
/// The compiler that built what is known. Another one makes other code.
const COMPILER: &str = "rustc version 1.95.0 ";

const BLOCKS: usize = 15;
const TRANSACTIONS: usize = 20;
const PAYMENTS: usize = 10;
const REQUESTS: usize = 30;
/// The fewest of so many count: what a timer or the node causes meanwhile is not the price of a request.
const ROUNDS: usize = 3;

#[tokio::test]
async fn no_hot_path_needs_many_more_instructions_than_known() {
    if !contains(&std::fs::read(super::BINARY).unwrap(), COMPILER.as_bytes()) {
        return println!("left out: the known counts are those of {COMPILER}");
    }
    // The longer it takes, the more polls and timers are counted.
    permits::alone();
    let (node, mut traffic) = DevNode::with_traffic_without_traces(400).await;
    let receiver = Receiver::start().await;
    let mut counted = Counted::start(&node.url()).await;
    node.wait_for(&counted.explorer).await;
    let mut counts = BTreeMap::new();
    let mut head = Head::of(&counted.explorer).await;
    head.mine(&node, &mut traffic).await;

    let mut fewest = u64::MAX;
    for _ in 0..ROUNDS {
        counted.count().await;
        let mut sent = 0;
        for _ in 0..BLOCKS {
            sent += head.mine(&node, &mut traffic).await;
        }
        fewest = fewest.min(counted.count().await / sent);
    }
    counts.insert("a transaction at the head, in a block of twenty".to_owned(), fewest);

    let payee = node.account(1);
    let pay = || {
        for _ in 0..PAYMENTS {
            node.chain.send(0, TxKind::Call(payee), U256::from(1), []).unwrap();
        }
    };
    let mut with_payments = async |counted: &mut Counted, messages: usize| {
        let mut fewest = u64::MAX;
        for _ in 0..ROUNDS {
            counted.count().await;
            for _ in 0..BLOCKS {
                let before = receiver.count();
                pay();
                head.follow(&node).await;
                receiver.wait_for("/hook", before + messages).await;
            }
            fewest = fewest.min(counted.count().await);
        }
        fewest
    };
    let unwatched = with_payments(&mut counted, 0).await;
    webhooks::register(&counted.explorer, &receiver.url("/hook"), &lower_hex(payee), &["tx"]).await;
    let watched = with_payments(&mut counted, PAYMENTS).await;
    counts.insert("a message of a webhook".to_owned(), watched.saturating_sub(unwatched) / (BLOCKS * PAYMENTS) as u64);

    let client = counted.explorer.client().with_keep_alive();
    for path in paths(&client, &node).await {
        // What the first request of its kind reads.
        request(&client, &path).await;
        let mut fewest = u64::MAX;
        for _ in 0..ROUNDS {
            counted.count().await;
            for _ in 0..REQUESTS {
                request(&client, &path).await;
            }
            fewest = fewest.min(counted.count().await);
        }
        counts.insert(without_names(&path), fewest / REQUESTS as u64);
    }
    compare(&counts, &counted);
}

/// The requests that are counted, about what the chain has.
async fn paths(client: &Client, node: &DevNode) -> Vec<String> {
    let account = lower_hex(node.account(1));
    let token = client.json("/api/v1/tokens?limit=1").await["tokens"][0]["address"].as_str().unwrap().to_owned();
    let trade = client.query(json!({ "entity": "dex_trades", "limit": 1 })).await["data"][0].clone();
    let hash = trade["txHash"].as_str().unwrap();
    let v1 = ["/blocks", "/transactions", "/tokens"].map(|list| format!("/api/v1{list}"));
    let about = [
        format!("/api/v1/transactions?address={account}"),
        format!("/api/v1/addresses/{account}/tokens"),
        format!("/api/v1/logs?address={token}"),
        format!("/api/v1/addresses/{account}"),
        format!("/api/v1/transactions/{hash}"),
        format!("/api/v1/tokens/{token}/holders"),
        "/".to_owned(),
        "/blocks".to_owned(),
        format!("/tx/{hash}"),
        format!("/address/{account}"),
        format!("/token/{token}"),
    ];
    v1.into_iter().chain(about).collect()
}

async fn request(client: &Client, path: &str) {
    let answer = client.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
}

/// A path with `:` for each address and hash.
fn without_names(path: &str) -> String {
    let mut text = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("0x") {
        text.push_str(before);
        text.push(':');
        rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    text + rest
}

fn compare(counts: &BTreeMap<String, u64>, counted: &Counted) {
    let known: BTreeMap<&str, u64> = KNOWN
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(count, name)| (name, count.parse().unwrap()))
        .collect();
    let (mut file, mut changed) = (String::new(), Vec::new());
    for (name, count) in counts {
        writeln!(file, "{count} {name}").unwrap();
        let Some(known) = known.get(name.as_str()) else {
            changed.push(format!("{name}: {count}, not known"));
            continue;
        };
        let ratio = *count as f64 / *known as f64;
        println!("{name}: {count}, {ratio:.3} of what is known");
        if ratio > 1.0 + TOLERANCE {
            changed.push(format!("{name}: {count}, {ratio:.2} times {known}"));
        }
    }
    let gone: Vec<_> = known.keys().filter(|name| !counts.contains_key(**name)).collect();
    assert!(
        changed.is_empty() && gone.is_empty(),
        "more instructions: {changed:#?}, gone: {gone:?}\nprofiles: {}\nweight/instructions.txt would be\n{file}",
        counted.profiles.display()
    );
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Mines blocks and waits until the explorer has each, by a stream: polls would be counted, too.
struct Head {
    events: Events,
}

impl Head {
    async fn of(explorer: &TestExplorer) -> Self {
        Self { events: explorer.client().events("/api/v1/stream").await }
    }

    /// A block of the traffic; returns how many transactions are in it.
    async fn mine(&mut self, node: &DevNode, traffic: &mut Traffic) -> u64 {
        let sent = traffic.send(TRANSACTIONS).unwrap();
        self.follow(node).await;
        sent.len() as u64
    }

    async fn follow(&mut self, node: &DevNode) {
        let hash = node.chain.mine(None).hash.to_string();
        while !self.events.next_named("block").await.contains(&hash) {}
    }
}

/// An explorer whose instructions are counted.
struct Counted {
    explorer: TestExplorer,
    /// The file to whose name callgrind adds the number of the profile.
    profiles: PathBuf,
    taken: u32,
}

impl Counted {
    async fn start(rpc: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("instructions");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let profiles = folder.join("profile");
        let explorer = webhooks::launch(rpc)
            .argument("--traces", "off")
            .configured("response-cache = 0\n")
            .under(&["valgrind", "--tool=callgrind", &format!("--callgrind-out-file={}", profiles.display())])
            .start()
            .await;
        Self { explorer, profiles, taken: 0 }
    }

    /// The instructions of all threads since the last time.
    async fn count(&mut self) -> u64 {
        // Work after the response or the block.
        tokio::time::sleep(Duration::from_millis(250)).await;
        let mut command = Command::new("vgdb");
        command.args([&format!("--pid={}", self.explorer.id()), "dump"]);
        let output = process::output(command).await;
        assert!(output.status.success(), "{output:?}");
        self.taken += 1;
        let profile = PathBuf::from(format!("{}.{}", self.profiles.display(), self.taken));
        eventually("a profile", async || {
            let text = std::fs::read_to_string(&profile).ok()?;
            // The last line.
            text.rsplit_once("totals: ")?.1.trim().parse().ok()
        })
        .await
    }
}
