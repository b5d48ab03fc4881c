//! Backups of a running service. They contain secrets, so they are available on the socket only.

use std::{
    fs::File,
    io::{Read, Write},
    path::PathBuf,
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use futures::stream;
use hyper::body::Bytes;
use store::Store;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};

use super::{failed::Failed, paths};
use crate::operations::{
    records,
    snapshot::{self, Archive, ArchiveCommand, SnapshotCommand},
};

/// Bytes of a file that are sent at once.
const CHUNK_BYTES: u64 = 256 << 10;

const WAITING_CHUNKS: usize = 4;

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
    Router::new()
        .route(paths::SNAPSHOT, post(take_snapshot))
        .route(paths::ARCHIVE, post(send_archive))
        .route(paths::RECORDS, post(export_records))
        .with_state(backups)
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

/// One file with a snapshot. The client stores it: it may have rights that the service does not have.
async fn send_archive(State(backups): Context, Json(command): Json<ArchiveCommand>) -> Result<Response, Response> {
    let running = backups.begin()?;
    // A client that goes away does not end it, so the next one waits for it.
    let preparing = tokio::spawn(async move {
        tracing::info!("taking a snapshot for an archive");
        let archive = Archive::prepare(backups.store.as_ref(), &backups.data, command.content).await?;
        Ok((archive, running))
    });
    let prepared: anyhow::Result<_> = preparing.await.map_err(|stopped| anyhow!(stopped)).flatten();
    let (archive, running) = prepared.map_err(|error| Failed::from(error).into_response())?;
    let (bytes, (mut to, body)) = (archive.bytes(), body_of_writes());
    tokio::task::spawn_blocking(move || {
        let written = archive.write_to(&mut to);
        // Before the client has the last bytes, and may ask for another one.
        drop((archive, running));
        match written {
            Ok(()) => to.finish(),
            Err(error) => tracing::error!(error = format!("{error:#}"), "cannot send the archive"),
        }
    });
    Ok(([(header::CONTENT_LENGTH, bytes)], body).into_response())
}

async fn export_records(State(backups): Context) -> Result<Body, Response> {
    let _running = backups.begin()?;
    tracing::info!("exporting records");
    let exported = records::export_pinned(backups.store.as_ref(), &backups.data).await;
    exported.map(body_of).map_err(|error| Failed::from(error).into_response())
}

/// A body that ends early if the writer is dropped early.
fn body_of_writes() -> (BodyWriter, Body) {
    let (sender, receiver) = mpsc::channel(WAITING_CHUNKS);
    let chunks = stream::unfold(receiver, async |mut receiver: mpsc::Receiver<Bytes>| {
        receiver.recv().await.map(|chunk| (Ok::<_, std::io::Error>(chunk), receiver))
    });
    (BodyWriter { sender, last: Bytes::new() }, Body::from_stream(chunks))
}

/// Blocks until the client has read enough. What was written last is sent at the end.
struct BodyWriter {
    sender: mpsc::Sender<Bytes>,
    last: Bytes,
}

impl BodyWriter {
    fn finish(self) {
        // A client that has gone away does not need it.
        let _ = self.sender.blocking_send(self.last);
    }
}

impl Write for BodyWriter {
    fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
        let before = std::mem::replace(&mut self.last, Bytes::copy_from_slice(part));
        if !before.is_empty() {
            let sent = self.sender.blocking_send(before);
            sent.map_err(|_| std::io::Error::other("the client has gone away"))?;
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
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
