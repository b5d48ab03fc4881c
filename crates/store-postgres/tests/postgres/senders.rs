//! Several processes that send webhooks from one database.

use std::{sync::Arc, time::Duration};

use domain::{
    Address, Attempt, AttemptEffect, AttemptOutcome, AttemptReport, ClaimedDelivery, DeliveryId, EventKind,
    NewDelivery, NewWebhook, NextStep, WebhookId,
};
use store::WebhookRecords;
use store_postgres::{PostgresStore, PostgresWebhookRecords, QueueNews, Sender};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    processes::eventually,
    server::{Server, open},
};

const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;

/// A process that sends.
struct Process {
    records: PostgresWebhookRecords,
    sender: Sender,
    news: mpsc::UnboundedReceiver<QueueNews>,
    taking_part: JoinHandle<()>,
    _store: PostgresStore,
}

impl Process {
    async fn start(url: &str) -> Self {
        let store = open(url).await;
        let sender = store.webhook_records().new_sender();
        let records = store.webhook_records().with_sender(sender.clone());
        let (told, news) = mpsc::unbounded_channel();
        let taking_part = tokio::spawn({
            let sender = sender.clone();
            async move {
                let _ = sender.run_until_disconnected(&|news| drop(told.send(news))).await;
            }
        });
        Self { records, sender, news, taking_part, _store: store }
    }

    async fn claim(&self, webhook: WebhookId) -> Vec<ClaimedDelivery> {
        self.records.claim(webhook, 9, NOW, NOW + MINUTE).await.unwrap()
    }

    /// The next news that is not about the clock.
    async fn next_news(&mut self) -> QueueNews {
        loop {
            match tokio::time::timeout(Duration::from_secs(30), self.news.recv()).await.unwrap().unwrap() {
                QueueNews::ClockAhead(ahead) => assert!(ahead.abs() < 5_000, "one machine has one clock: {ahead}"),
                news => return news,
            }
        }
    }

    /// The process stands still, or is cut off: nobody learns of it at once.
    fn freeze(&self) {
        self.taking_part.abort();
    }
}

fn delivered(claimed: &ClaimedDelivery) -> AttemptReport {
    let outcome = AttemptOutcome::Answered { status: 200, body: String::new() };
    AttemptReport {
        webhook: claimed.webhook,
        number: claimed.number,
        attempt: Attempt { at: NOW, millis: 1, outcome },
        next: NextStep::Done,
        effect: AttemptEffect::Succeeded,
        dropped: claimed.dropped.total,
    }
}

async fn add_webhooks(records: &PostgresWebhookRecords, count: u8) -> Vec<WebhookId> {
    let mut added = Vec::new();
    for number in 0..count {
        let webhook = NewWebhook {
            owner: Address::repeat_byte(number),
            watched: Address::repeat_byte(1),
            created_at: NOW,
            ..NewWebhook::sample()
        };
        added.push(records.add_webhook(webhook).await.unwrap().id);
    }
    added
}

async fn queue(records: &PostgresWebhookRecords, webhook: WebhookId, number: u8) {
    let body = domain::Bytes::from_static(b"{}");
    let id = DeliveryId::new([number; 16]);
    let delivery = NewDelivery { webhook, id, kind: EventKind::Ping, location: None, body };
    records.enqueue(delivery, NOW).await.unwrap().unwrap();
}

/// Which of two processes may send a webhook, once both agree.
async fn agreed(first: &Process, second: &Process, webhooks: &[WebhookId]) -> Vec<bool> {
    eventually("both agree who sends what", async || {
        let of_first: Vec<bool> = webhooks.iter().map(|id| first.records.may_send(*id)).collect();
        let agree = webhooks.iter().zip(&of_first).all(|(id, is_first)| second.records.may_send(*id) != *is_first);
        agree.then_some(of_first)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_are_shared_and_move_when_a_sender_comes_and_goes() {
    let server = Server::shared();
    let url = server.database().await;
    let mut first = Process::start(&url).await;
    assert_eq!(first.next_news().await, QueueNews::Reassigned);
    let webhooks = add_webhooks(&first.records, 30).await;
    for webhook in &webhooks {
        queue(&first.records, *webhook, 1).await;
        assert_eq!(first.next_news().await, QueueNews::Queued(vec![*webhook]));
    }
    assert_eq!(first.records.list_queues().await.unwrap().len(), 30, "it is alone");
    let mut held = Vec::new();
    for webhook in &webhooks {
        held.extend(first.claim(*webhook).await);
    }
    assert_eq!(held.len(), 30);

    // Another one comes: it gets its share only when the first one is done with it.
    let mut second = Process::start(&url).await;
    assert_eq!(second.next_news().await, QueueNews::Reassigned);
    let of_first = agreed(&first, &second, &webhooks).await;
    let share = of_first.iter().filter(|is_first| **is_first).count();
    assert!((5..=25).contains(&share), "{share} of 30 stay");
    let (moved, _) = webhooks.iter().zip(&of_first).find(|(_, is_first)| !**is_first).unwrap();
    queue(&first.records, *moved, 2).await;
    assert_eq!(second.claim(*moved).await, [], "a message is in flight");
    assert_eq!(first.claim(*moved).await, [], "it is to be sent by the other one");
    let report = held.iter().find(|claimed| claimed.webhook == *moved).unwrap();
    first.records.record_attempts(vec![delivered(report)]).await.unwrap();
    eventually("it is notified that the queue is free", async || {
        (second.next_news().await == QueueNews::Queued(vec![*moved])).then_some(())
    })
    .await;
    let claimed = second.claim(*moved).await;
    assert_eq!(claimed.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), [2], "in order, none twice");

    // It leaves: the first one goes on with what was not reported.
    second.sender.leave().await.unwrap();
    assert!(!second.records.may_send(*moved));
    eventually("the first one has all", async || first.records.may_send(*moved).then_some(())).await;
    assert_eq!(first.claim(*moved).await, claimed, "the same messages again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_stands_still_loses_its_queues_and_its_reports_change_nothing() {
    let server = Server::shared();
    let url = server.database().await;
    let (first, second) = (Process::start(&url).await, Process::start(&url).await);
    let webhooks = add_webhooks(&first.records, 20).await;
    let of_first = agreed(&first, &second, &webhooks).await;
    let (webhook, _) = webhooks.iter().zip(&of_first).find(|(_, is_first)| **is_first).unwrap();
    queue(&first.records, *webhook, 1).await;
    queue(&first.records, *webhook, 2).await;
    let held = first.claim(*webhook).await;
    assert_eq!(held.len(), 2);
    first.freeze();
    assert_eq!(second.claim(*webhook).await, [], "not at once");
    let taken = eventually("the other one takes over", async || {
        let claimed = second.claim(*webhook).await;
        (!claimed.is_empty()).then_some(claimed)
    })
    .await;
    assert_eq!(taken, held);

    // It stopped sending before that, and what it reports now is not counted.
    assert!(!first.records.may_send(*webhook));
    first.records.record_attempts(held.iter().map(delivered).collect()).await.unwrap();
    first.records.release(held.iter().map(|claimed| (claimed.webhook, claimed.number)).collect()).await.unwrap();
    assert_eq!(first.claim(*webhook).await, []);
    assert_eq!(second.claim(*webhook).await, [], "they are still claimed");
    assert_eq!(second.records.queue_counts(*webhook).await.unwrap().pending, 2);
    second.records.record_attempts(taken.iter().map(delivered).collect()).await.unwrap();
    assert_eq!(second.records.queue_counts(*webhook).await.unwrap().pending, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_senders_never_claim_the_same_message() {
    let server = Server::shared();
    let url = server.database().await;
    let (first, second) = (Arc::new(Process::start(&url).await), Arc::new(Process::start(&url).await));
    let webhooks = add_webhooks(&first.records, 8).await;
    for webhook in &webhooks {
        for number in 0..20 {
            queue(&first.records, *webhook, number).await;
        }
    }
    agreed(&first, &second, &webhooks).await;
    let work = |process: Arc<Process>, webhooks: Vec<WebhookId>| {
        tokio::spawn(async move {
            let mut sent = Vec::new();
            for webhook in webhooks.iter().cycle().take(80) {
                let claimed = process.records.claim(*webhook, 4, NOW, NOW + MINUTE).await.unwrap();
                process.records.record_attempts(claimed.iter().map(delivered).collect()).await.unwrap();
                sent.extend(claimed.iter().map(|claimed| (claimed.webhook, claimed.number)));
            }
            sent
        })
    };
    let (one, two) = (work(Arc::clone(&first), webhooks.clone()), work(Arc::clone(&second), webhooks.clone()));
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    assert!(!one.is_empty() && !two.is_empty(), "both send: {} and {}", one.len(), two.len());
    for webhook in webhooks {
        let numbers = |sent: &[(WebhookId, u64)]| -> Vec<u64> {
            sent.iter().filter(|(of, _)| *of == webhook).map(|(_, number)| *number).collect()
        };
        let (one, two) = (numbers(&one), numbers(&two));
        assert!(one.is_empty() || two.is_empty(), "one process sends a webhook");
        assert_eq!([one, two].concat(), (1..=20).collect::<Vec<_>>(), "in order, each once");
    }
}
