//! The version of the data, as far as this process knows it.
//!
//! Each visible change increases the version in the database and notifies all processes. A change by this process is known
//! here when it ends, and while it becomes visible there is no version. A change by another process is known when its
//! notification arrives; without a connection for notifications, there is no version.
//!
//! The first version after the promotion of a standby is higher than all before, also than those that the standby lacked: see
//! [`Position`].

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use deadpool_postgres::Transaction;
use futures::{
    Stream, StreamExt,
    future::{Either, select},
    stream::poll_fn,
};
use store::{StateVersion, StoreError};
use tokio::{sync::oneshot, task::AbortHandle};
use tokio_postgres::{AsyncMessage, Client, Error};

use crate::{
    database::get,
    database_url::DatabaseUrl,
    error::store_error,
    rows::RowExt,
    same_chain::{Expected, Position},
};

const CHANNEL: &str = "explorer_state";
const TIMELINE_BIT: i32 = Position::TIMELINE_BIT.cast_signed();
/// Notifications can be lost with a connection that nobody noticed to be lost.
const POLL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Versions {
    known: Mutex<Known>,
    /// No server without the newest version is used.
    expected: Arc<Expected>,
}

#[derive(Debug, Default)]
struct Known {
    version: Option<u64>,
    is_listening: bool,
    /// Changes by this process that are becoming visible.
    changes: u32,
}

impl Versions {
    pub(crate) fn new(expected: Arc<Expected>) -> Self {
        Self { known: Mutex::default(), expected }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Option<StateVersion> {
        let known = self.known();
        known.version.filter(|_| known.is_listening && known.changes == 0).map(StateVersion)
    }

    /// The newest version that this process has heard of.
    pub(crate) fn latest(&self) -> Option<u64> {
        self.known().version
    }

    fn learn(&self, version: u64) {
        self.expected.note_seen(Position::of_version(version));
        let mut known = self.known();
        known.version = Some(known.version.map_or(version, |before| before.max(version)));
    }

    fn lose_connection(&self) {
        let mut known = self.known();
        (known.version, known.is_listening) = (None, false);
    }
}

/// A change that is becoming visible.
struct Change<'a> {
    versions: &'a Versions,
    version: Option<u64>,
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if let Some(version) = self.version {
            self.versions.expected.note_seen(Position::of_version(version));
        }
        let mut known = self.versions.known();
        known.changes -= 1;
        // If the outcome is unknown, so is the version, until it is read again.
        known.version = self.version.map(|version| known.version.map_or(version, |before| before.max(version)));
    }
}

/// Commits a change that queries may show.
pub(crate) async fn commit(tx: Transaction<'_>, versions: &Versions) -> Result<(), StoreError> {
    let sql = "with next as (
            update state_version
            set number = greatest(number + 1, coalesce(nullif(current_setting('explorer.timeline', true), ''), '0')::int8 << $1)
            returning number
        ) select number, pg_notify('explorer_state', number::text) from next";
    let version = get(&tx, sql, &[&TIMELINE_BIT]).await?.u64(0)?;
    versions.known().changes += 1;
    let mut change = Change { versions, version: None };
    tx.commit().await.map_err(store_error)?;
    change.version = Some(version);
    Ok(())
}

/// Listens to changes by other processes until it is dropped.
#[derive(Debug)]
pub(crate) struct Listener(AbortHandle);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Listener {
    /// Returns when it listens.
    pub(crate) async fn start(
        url: DatabaseUrl,
        versions: Arc<Versions>,
        may_be_standby: bool,
    ) -> Result<Self, StoreError> {
        let (listening, first) = oneshot::channel();
        let mut listening = Some(listening);
        let task = tokio::spawn(async move {
            loop {
                let lost = listen(&url, &versions, may_be_standby, &mut listening).await;
                versions.lose_connection();
                let Err(error) = lost else { continue };
                if let Some(first) = listening.take() {
                    let _ = first.send(Err(error));
                    return;
                }
                tracing::warn!(%error, "waiting for notifications of the database");
                tokio::time::sleep(POLL).await;
            }
        });
        let listener = Self(task.abort_handle());
        let ended = || StoreError::Unavailable { reason: "the connection for notifications ended".to_owned() };
        first.await.unwrap_or_else(|_| Err(ended()))?;
        Ok(listener)
    }
}

/// Returns when the connection is lost.
async fn listen(
    url: &DatabaseUrl,
    versions: &Versions,
    may_be_standby: bool,
    listening: &mut Option<oneshot::Sender<Result<(), StoreError>>>,
) -> Result<(), StoreError> {
    let (client, mut connection) = url.connect().await?;
    let messages = poll_fn(move |context| connection.poll_message(context));
    let (receiving, polling) = (receive(messages, versions), poll(&client, versions, may_be_standby, listening));
    match select(pin!(receiving), pin!(polling)).await {
        Either::Left((ended, _)) | Either::Right((ended, _)) => ended,
    }
}

/// Receives notifications, and everything else that the server sends.
async fn receive(
    messages: impl Stream<Item = Result<AsyncMessage, Error>>,
    versions: &Versions,
) -> Result<(), StoreError> {
    let mut messages = pin!(messages);
    while let Some(message) = messages.next().await {
        if let AsyncMessage::Notification(notification) = message.map_err(store_error)?
            && let Ok(version) = notification.payload().parse()
        {
            versions.learn(version);
        }
    }
    Ok(())
}

/// Reads the version from time to time.
async fn poll(
    client: &Client,
    versions: &Versions,
    may_be_standby: bool,
    listening: &mut Option<oneshot::Sender<Result<(), StoreError>>>,
) -> Result<(), StoreError> {
    // A standby refuses it: then there is no version.
    let listens = !(may_be_standby && is_standby(client).await?);
    if listens {
        client.batch_execute(&format!("listen {CHANNEL}")).await.map_err(store_error)?;
    }
    loop {
        let row = client.query_one("select number from state_version", &[]).await.map_err(store_error)?;
        versions.learn(row.u64(0)?);
        versions.known().is_listening = listens;
        if let Some(first) = listening.take() {
            let _ = first.send(Ok(()));
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn is_standby(client: &Client) -> Result<bool, StoreError> {
    client.query_one("select pg_is_in_recovery()", &[]).await.map_err(store_error)?.value(0)
}
