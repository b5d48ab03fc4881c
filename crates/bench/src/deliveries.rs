//! The rate at which a queue of webhook messages is delivered, compared with a loop that only posts.

use std::{
    fmt,
    net::Ipv4Addr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use axum::{Router, extract::State, routing::post};
use domain::{DeliveryId, EventKind, WebhookId};
use serde_json::{Value, json};
use store::{MatchedBlock, Matches, NewEvent, Part, Recipient, WebhookRecords};
use store_embedded::{EmbeddedStore, StoreOptions};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{chain::RecordedChain, explorer::Explorer, progress::report};

const MESSAGES: u64 = 50_000;
const MESSAGES_PER_WRITE: u64 = 10_000;
/// The explorer's limit of concurrent requests per endpoint.
const CONCURRENT_POSTS: u64 = 4;
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The watched address, and the owner of the webhook.
const WATCHED: &str = "0x000000000000000000000000000000000000beef";
const OPTIONS: [&str; 3] = ["--owner-access", "open", "--webhook-allow-insecure"];

pub(crate) struct DeliveryFigures {
    delivered: f64,
    posted: f64,
}

/// Fills a queue while no explorer runs, then starts one that only has to deliver it.
pub(crate) async fn measure(chain: &RecordedChain) -> anyhow::Result<DeliveryFigures> {
    let data = tempfile::tempdir()?;
    let receiver = Receiver::start().await?;
    let explorer = Explorer::start_with(&chain.url(), data.path(), &OPTIONS).await?;
    explorer.wait_for_tip(chain.head).await?;
    let webhook = register(&explorer, &receiver.url).await?;
    explorer.stop().await?;
    report(format!("deliveries: queueing {MESSAGES} messages"));
    fill(data.path(), webhook).await?;

    let before = receiver.received();
    let explorer = Explorer::start_with(&chain.url(), data.path(), &OPTIONS).await?;
    receiver.wait_for(before + 1).await?;
    let started = Instant::now();
    receiver.wait_for(before + MESSAGES).await?;
    let delivered = MESSAGES as f64 / started.elapsed().as_secs_f64();
    explorer.stop().await?;

    report("deliveries: the same requests by a bare loop");
    let started = Instant::now();
    post_all(&receiver.url).await?;
    Ok(DeliveryFigures { delivered, posted: MESSAGES as f64 / started.elapsed().as_secs_f64() })
}

async fn register(explorer: &Explorer, url: &str) -> anyhow::Result<WebhookId> {
    let body = json!({ "ownerAddress": WATCHED, "url": url, "watchAddress": WATCHED, "eventTypes": ["tx"] });
    let request = reqwest::Client::new().post(format!("{}/api/v1/webhooks", explorer.url));
    let response = request.header("content-type", "application/json").body(body.to_string()).send().await?;
    let response: Value = serde_json::from_slice(&response.bytes().await?)?;
    response["id"].as_u64().with_context(|| format!("the webhook was refused: {response}"))
}

/// Queues messages as if blocks had matched.
async fn fill(data: &Path, webhook: WebhookId) -> anyhow::Result<()> {
    let store = EmbeddedStore::open(data, StoreOptions::default())?;
    let records = store.webhook_records();
    let now = unix_time::millis();
    for first in (0..MESSAGES).step_by(usize::try_from(MESSAGES_PER_WRITE)?) {
        let events = (first..first + MESSAGES_PER_WRITE).map(|number| {
            let recipients = vec![Recipient { webhook, id: DeliveryId::new(u128::from(number).to_be_bytes()) }];
            NewEvent { kind: EventKind::Tx, location: None, body: message(number).into_bytes().into(), recipients }
        });
        let cursor = records.find_cursor().await?;
        let matches = Matches {
            version: records.watch_list().await?.version,
            from: cursor,
            blocks: cursor.into_iter().map(|block| MatchedBlock { block, known_to: webhook }).collect(),
            events: events.collect(),
            part: Part::Last,
            skips_internal: true,
        };
        records.enqueue_matches(matches, now).await?;
    }
    Ok(store.sync()?)
}

/// About as long as a real transaction event.
fn message(number: u64) -> String {
    let hash = alloy_primitives::keccak256(number.to_be_bytes());
    json!({ "event": "tx", "hash": hash, "from": WATCHED, "to": WATCHED, "value": number.to_string() }).to_string()
}

/// Posts the same messages without signatures, storage and retries.
async fn post_all(url: &str) -> anyhow::Result<()> {
    let client = reqwest::Client::new();
    let posting = (0..CONCURRENT_POSTS).map(|first| {
        let client = &client;
        async move {
            for number in (first..MESSAGES).step_by(usize::try_from(CONCURRENT_POSTS)?) {
                let request = client.post(url).header("content-type", "application/json").body(message(number));
                request.send().await?.error_for_status()?.bytes().await?;
            }
            anyhow::Ok(())
        }
    });
    futures::future::try_join_all(posting).await?;
    Ok(())
}

/// Accepts and counts all messages.
struct Receiver {
    url: String,
    received: Arc<AtomicU64>,
    serving: JoinHandle<()>,
}

impl Receiver {
    async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (url, received) = (format!("http://{}/hook", listener.local_addr()?), Arc::new(AtomicU64::new(0)));
        let count = |State(received): State<Arc<AtomicU64>>| async move {
            received.fetch_add(1, Ordering::Relaxed);
            "thanks"
        };
        let router = Router::new().route("/hook", post(count)).with_state(Arc::clone(&received));
        let serving = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { url, received, serving })
    }

    fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    async fn wait_for(&self, count: u64) -> anyhow::Result<()> {
        let (mut last, mut moved) = (self.received(), Instant::now());
        while last < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if self.received() > last {
                (last, moved) = (self.received(), Instant::now());
            }
            if moved.elapsed() > STALL_TIMEOUT {
                bail!("only {last} of {count} messages arrived");
            }
        }
        Ok(())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Display for DeliveryFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { delivered, posted } = self;
        writeln!(f, "| {MESSAGES} messages to one receiver, {CONCURRENT_POSTS} concurrently | per second | |")?;
        writeln!(f, "|---|---|---|")?;
        writeln!(f, "| bare posts: no signature, nothing stored | {posted:.0} | |")?;
        writeln!(
            f,
            "| delivered: signed, stored before and after each attempt | {delivered:.0} | {:.2} |",
            delivered / posted
        )
    }
}
