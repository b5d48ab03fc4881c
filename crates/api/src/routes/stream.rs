use std::{
    convert::Infallible,
    net::SocketAddr,
    time::{Duration, Instant},
};

use axum::{
    extract::{ConnectInfo, State},
    http::HeaderMap,
    response::sse::{Event, Sse},
};
use domain::{BlockId, BlockRef, SyncStatus};
use futures::{Stream, stream};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    state::App,
    {error::ApiError, wire},
};

/// Often enough that proxies do not close the connection on a quiet chain, and that clients notice a lost one.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often the state is compared without a signal.
const STATUS_CHECK: Duration = Duration::from_secs(1);
/// When a browser opens a stream again that was closed.
const RECONNECT: Duration = Duration::from_secs(1);

fn too_many() -> ApiError {
    ApiError::RateLimited { retry_after: 60, reason: "the maximum number of streams is open".to_owned(), advice: "" }
}

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stream_blocks))
}

/// New blocks as they are indexed, and the state of the index
///
/// Server-sent events. A `block` event has the newest block, at first and after each new block or reorg: `data` is the block, `id` its
/// hash. If blocks arrive faster than the client reads, intermediate ones are skipped. A `status` event follows, after each change,
/// and at least every 15 seconds: its `data` has `ok`, `text` (the state in a few words), and `phase`, `nodeReachable`,
/// `chainChanged` and `chain` as in `/health`. Another `chain` than before means that the index has started over. Streams do not
/// count against the rate limit; a client may have 32 open. When 2,000 are open in total, a client with few streams replaces the
/// oldest stream of the client with the most.
#[utoipa::path(
    get,
    path = "/stream",
    tag = "chain",
    responses(
        (
            status = 200,
            description = "Events named `block` and `status`",
            body = wire::Block,
            content_type = "text/event-stream"
        )
    )
)]
async fn stream_blocks(
    State(app): State<App>,
    peer: ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let client = app.admission.proxies.client(peer.ip(), &headers);
    let slot = app.streams.take_slot(client).ok_or_else(too_many)?;
    let mut sync = app.sync.clone();
    sync.mark_changed();
    let events = stream::unfold((app, sync, Sent::default(), slot), |(app, mut sync, mut sent, slot)| async move {
        loop {
            tokio::select! {
                // The channel closes when the process stops.
                changed = sync.changed() => changed.ok()?,
                // A chain that is too quiet changes nothing.
                () = tokio::time::sleep(STATUS_CHECK) => {}
                () = slot.evicted() => return None,
            }
            let status = sync.borrow_and_update().clone();
            if status.tip != sent.tip {
                sent.tip = status.tip;
                if let Some(event) = block_event(&app, status.tip).await {
                    // The state may have changed as well.
                    sync.mark_changed();
                    return Some((Ok(event), (app, sync, sent, slot)));
                }
            }
            if let Some(event) = sent.next_status(&status, Instant::now()) {
                return Some((Ok(event), (app, sync, sent, slot)));
            }
        }
    });
    Ok(Sse::new(events))
}

/// What a client of the stream knows.
#[derive(Default)]
struct Sent {
    tip: Option<BlockRef>,
    state: Option<wire::IndexState>,
    at: Option<Instant>,
}

impl Sent {
    /// The state, if it is due. While the index catches up, its text has numbers that change all the time.
    fn next_status(&mut self, status: &SyncStatus, now: Instant) -> Option<Event> {
        let state = wire::IndexState::new(status, now);
        let pause = match &self.state {
            Some(sent) if *sent == state => KEEP_ALIVE,
            Some(sent) if (wire::IndexState { text: sent.text.clone(), ..state.clone() }) == *sent => STATUS_CHECK,
            _ => Duration::ZERO,
        };
        if self.at.is_some_and(|at| now.duration_since(at) < pause) {
            return None;
        }
        let event = Event::default().event("status").retry(RECONNECT).json_data(&state).ok()?;
        (self.state, self.at) = (Some(state), Some(now));
        Some(event)
    }
}

/// None if the block was reverted meanwhile or cannot be read now: the next event follows.
async fn block_event(app: &App, tip: Option<BlockRef>) -> Option<Event> {
    let block = app.chain.find_block(BlockId::Hash(tip?.hash)).await.ok().flatten()?;
    let id = format!("{:#x}", block.hash);
    Event::default().event("block").id(id).json_data(wire::Block::from(block)).ok()
}
