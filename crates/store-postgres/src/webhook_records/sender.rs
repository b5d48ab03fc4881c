//! A process that sends webhooks: it sends heartbeats, and learns which queues are its own and which have new messages.

use std::{
    hash::{BuildHasher, RandomState},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::WebhookId;
use futures::future::BoxFuture;
use futures::{
    Stream, StreamExt,
    future::{Either, select},
    stream::poll_fn,
};
use store::StoreError;
use tokio_postgres::{AsyncMessage, Client, Error};

use super::{
    announcements::{self, CHANNEL},
    change::Change,
    shares::{SENDER_TIMEOUT, Shares},
};
use crate::{
    database::{Database, execute, query},
    error::store_error,
    rows::{RowExt, int8},
};

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// Entries of processes that ended without leaving are deleted after this time.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);

/// This process as one of those that send webhooks.
#[derive(Debug, Clone)]
pub struct Sender {
    database: Database,
    pub(super) shares: Arc<Shares>,
}

/// What a sender has learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueNews {
    /// These webhooks have new messages, or are free to be taken.
    Queued(Vec<WebhookId>),
    /// The assignment of queues to this process may have changed.
    Reassigned,
    /// By how many milliseconds the clock of the database is ahead of this machine's.
    ClockAhead(i64),
}

impl Sender {
    /// Other processes take over the webhooks of a process without a heartbeat for this long.
    pub const TIMEOUT: Duration = SENDER_TIMEOUT;

    pub(super) fn new(database: Database) -> Self {
        Self { database, shares: Arc::new(Shares::new(random_token())) }
    }

    /// Gets a share of the queues and learns of new messages, until the connection is lost. To be called again then: the queues of
    /// a process whose heartbeats stop are taken by others after [`Self::TIMEOUT`].
    ///
    /// # Errors
    /// If the database fails.
    pub fn run_until_disconnected<'a>(
        &'a self,
        news: &'a (dyn Fn(QueueNews) + Send + Sync),
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (client, mut connection) = self.database.url().connect().await?;
            let messages = poll_fn(move |context| connection.poll_message(context));
            let (receiving, beating) = (receive(messages, news), self.send_heartbeats(&client, news));
            match select(pin!(receiving), pin!(beating)).await {
                Either::Left((ended, _)) | Either::Right((ended, _)) => ended,
            }
        })
    }

    async fn send_heartbeats(
        &self,
        client: &Client,
        news: &(dyn Fn(QueueNews) + Send + Sync),
    ) -> Result<(), StoreError> {
        client.batch_execute(&format!("listen {CHANNEL}")).await.map_err(store_error)?;
        while !self.shares.has_left() {
            if self.send_heartbeat(client, news).await? {
                self.hand_over_unassigned().await?;
                news(QueueNews::Reassigned);
            }
            tokio::time::sleep(HEARTBEAT_INTERVAL).await;
        }
        std::future::pending().await
    }

    /// Returns whether the assignment of queues to this process may have changed.
    async fn send_heartbeat(
        &self,
        client: &Client,
        news: &(dyn Fn(QueueNews) + Send + Sync),
    ) -> Result<bool, StoreError> {
        // One that was forgotten meanwhile is entered again.
        let sql = "with heartbeat as (
                insert into sender values ($1, clock_timestamp())
                on conflict (token) do update set beaten_at = excluded.beaten_at
            ), forgotten as (
                delete from sender where beaten_at < clock_timestamp() - $3 * interval '1 second' and token <> $1
            )
            select array(select token from sender
                    where token <> $1 and beaten_at > clock_timestamp() - $2 * interval '1 second'),
                (extract(epoch from clock_timestamp()) * 1000)::int8";
        let (begun, begun_at) = (Instant::now(), unix_millis());
        let parameters = (self.shares.token(), SENDER_TIMEOUT.as_secs_f64(), FORGOTTEN_AFTER.as_secs_f64());
        let row = client.query_one(sql, &[&parameters.0, &parameters.1, &parameters.2]).await.map_err(store_error)?;
        let mut senders: Vec<i64> = row.value(0)?;
        senders.push(self.shares.token());
        senders.sort_unstable();
        let half_trip = i64::try_from(begun.elapsed().as_millis() / 2).unwrap_or(i64::MAX);
        news(QueueNews::ClockAhead(row.value::<i64>(1)?.saturating_sub(begun_at).saturating_sub(half_trip)));
        let count = senders.len();
        let effect = self.shares.note(begun, senders);
        if effect.is_other_count {
            tracing::info!(processes = count, "processes share the sending of webhooks");
        }
        Ok(effect.is_reassigned)
    }

    /// Releases queues that are assigned to other senders, unless some of their messages are claimed.
    async fn hand_over_unassigned(&self) -> Result<(), StoreError> {
        let mut connection = self.database.connection().await?;
        let tx = connection.transaction().await.map_err(store_error)?;
        let mut change = Change::begin(&tx, store::WebhookLimits::default()).await?;
        let rows = query(&tx, "select webhook from queue_owner where owner = $1", &[&self.shares.token()]).await?;
        let owned = rows.iter().map(|row| row.u64(0)).collect::<Result<Vec<WebhookId>, _>>()?;
        self.hand_over(&mut change, &owned).await?;
        change.finish().await?;
        tx.commit().await.map_err(store_error)
    }

    /// Of the webhooks, releases those that are assigned to other senders, unless some of their messages are claimed.
    pub(super) async fn hand_over(&self, change: &mut Change<'_>, webhooks: &[WebhookId]) -> Result<(), StoreError> {
        let foreign: Vec<i64> = webhooks
            .iter()
            .filter(|webhook| !self.shares.is_assigned(**webhook))
            .map(|webhook| int8(*webhook))
            .collect();
        if foreign.is_empty() {
            return Ok(());
        }
        let sql = "delete from queue_owner q where q.owner = $1 and q.webhook = any($2) and not exists (
                select 1 from delivery d where d.webhook = q.webhook and d.lease_until is not null and d.lease_until > 0)
            returning q.webhook";
        for row in query(change.tx, sql, &[&self.shares.token(), &foreign]).await? {
            change.announce(row.u64(0)?);
        }
        Ok(())
    }

    /// Releases all queues, so that others take them at once. Messages that are claimed and not reported are sent again.
    ///
    /// # Errors
    /// If the database fails.
    pub fn leave(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.shares.leave();
            let mut connection = self.database.connection().await?;
            let tx = connection.transaction().await.map_err(store_error)?;
            let mut change = Change::begin(&tx, store::WebhookLimits::default()).await?;
            let sql = "with gone as (delete from sender where token = $1)
                delete from queue_owner where owner = $1 returning webhook";
            for row in query(&tx, sql, &[&self.shares.token()]).await? {
                change.announce(row.u64(0)?);
            }
            change.finish().await?;
            tx.commit().await.map_err(store_error)
        })
    }

    /// Takes the queue of a webhook for this process; false if it belongs to another one, or is to be sent by another one.
    pub(super) async fn take(&self, change: &Change<'_>, webhook: WebhookId) -> Result<bool, StoreError> {
        let token = self.shares.token();
        let sql = "select q.owner, exists (select 1 from sender s
                where s.token = q.owner and s.beaten_at > clock_timestamp() - $2 * interval '1 second')
            from queue_owner q where q.webhook = $1";
        let rows = query(change.tx, sql, &[&int8(webhook), &SENDER_TIMEOUT.as_secs_f64()]).await?;
        let (owner, is_alive) = match rows.first() {
            Some(row) => (Some(row.value::<i64>(0)?), row.value(1)?),
            None => (None, false),
        };
        if owner == Some(token) {
            return Ok(true);
        }
        if is_alive || !self.shares.is_assigned(webhook) {
            return Ok(false);
        }
        let sql = "insert into queue_owner values ($1, $2) on conflict (webhook) do update set owner = excluded.owner";
        execute(change.tx, sql, &[&int8(webhook), &token]).await?;
        // They were claimed by the owner before, and may have been sent: the attempt stays recorded.
        let sql =
            "update delivery set lease_until = 0 where webhook = $1 and lease_until is not null and lease_until > 0";
        execute(change.tx, sql, &[&int8(webhook)]).await?;
        Ok(true)
    }

    /// Of the webhooks, those whose queue belongs to this process.
    pub(super) async fn owned(&self, change: &Change<'_>, webhooks: &[i64]) -> Result<Vec<WebhookId>, StoreError> {
        let sql = "select webhook from queue_owner where owner = $1 and webhook = any($2)";
        query(change.tx, sql, &[&self.shares.token(), &webhooks]).await?.iter().map(|row| row.u64(0)).collect()
    }
}

/// Receives notifications, and everything else that the server sends.
async fn receive(
    messages: impl Stream<Item = Result<AsyncMessage, Error>>,
    news: &(dyn Fn(QueueNews) + Send + Sync),
) -> Result<(), StoreError> {
    let mut messages = pin!(messages);
    while let Some(message) = messages.next().await {
        if let AsyncMessage::Notification(notification) = message.map_err(store_error)? {
            let webhooks = announcements::webhooks(notification.payload());
            news(webhooks.map_or(QueueNews::Reassigned, QueueNews::Queued));
        }
    }
    Ok(())
}

fn random_token() -> i64 {
    RandomState::new().hash_one(Instant::now()).cast_signed()
}

fn unix_millis() -> i64 {
    i64::try_from(unix_time::millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_says_when_queues_are_taken_over() {
        let page = include_str!("../../../../docs/deployment.md");
        let within = format!("within {} seconds if it died", (SENDER_TIMEOUT + 2 * HEARTBEAT_INTERVAL).as_secs());
        assert!(page.contains(&within), "docs/deployment.md does not say: {within}");
    }
}
