//! Backups of a running service. They contain secrets, so they are available on the socket only.

use std::{fs::File, io::Read, path::PathBuf, sync::Arc};

use anyhow::{Context as _, anyhow};
use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use futures::stream;
use hyper::body::Bytes;
use store::Store;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::commands::Failed;
use crate::{
    records,
    snapshot::{self, SnapshotCommand},
};

pub(crate) const SNAPSHOT: &str = "/snapshot";
pub(crate) const RECORDS: &str = "/records";

/// Bytes of a file that are sent at once.
const CHUNK_BYTES: u64 = 256 << 10;

/// What is backed up.
pub(crate) struct Backups {
    store: Arc<dyn Store>,
    data: PathBuf,
    /// Held by the one that is being made.
    running: Arc<Mutex<()>>,
}

impl Backups {
    pub(crate) fn new(store: Arc<dyn Store>, data: PathBuf) -> Self {
        Self { store, data, running: Arc::default() }
    }

    fn begin(&self) -> Result<OwnedMutexGuard<()>, Response> {
        Arc::clone(&self.running).try_lock_owned().map_err(|_| {
            let advice = "another snapshot or export is being made: wait until it is complete\n";
            (StatusCode::CONFLICT, advice).into_response()
        })
    }
}

type Context = State<Arc<Backups>>;

pub(super) fn router(backups: Arc<Backups>) -> Router {
    Router::new().route(SNAPSHOT, post(take_snapshot)).route(RECORDS, post(export_records)).with_state(backups)
}

/// A client that goes away does not interrupt it.
async fn take_snapshot(State(backups): Context, Json(command): Json<SnapshotCommand>) -> Result<String, Response> {
    let running = backups.begin()?;
    let taking = tokio::spawn(async move {
        let _running = running;
        tracing::info!(target = %command.target.display(), "taking a snapshot");
        let taken = snapshot::execute(backups.store.as_ref(), &backups.data, command).await;
        match &taken {
            Ok(_) => tracing::info!("took the snapshot"),
            Err(error) => tracing::error!(error = format!("{error:#}"), "cannot take the snapshot"),
        }
        taken.context("the explorer writes the snapshot, with the rights of its own user")
    });
    let taken = taking.await.map_err(|stopped| anyhow!(stopped)).flatten();
    taken.map_err(|error| Failed::from(error).into_response())
}

async fn export_records(State(backups): Context) -> Result<Body, Response> {
    let _running = backups.begin()?;
    tracing::info!("exporting records");
    let exported = records::export_pinned(backups.store.as_ref(), &backups.data).await;
    exported.map(body_of).map_err(|error| Failed::from(error).into_response())
}

fn body_of(file: File) -> Body {
    Body::from_stream(stream::try_unfold(file, async |file| {
        let read = move || {
            let mut chunk = Vec::new();
            (&file).take(CHUNK_BYTES).read_to_end(&mut chunk).map(|_| (Bytes::from(chunk), file))
        };
        let (chunk, file) = tokio::task::spawn_blocking(read).await.map_err(std::io::Error::other)??;
        Ok::<_, std::io::Error>((!chunk.is_empty()).then_some((chunk, file)))
    }))
}
