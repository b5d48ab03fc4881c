use std::{convert::Infallible, net::SocketAddr, time::Duration};

use axum::{
    extract::{ConnectInfo, State},
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use domain::{BlockId, BlockRef};
use futures::{Stream, stream};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{document::Unavailable, error::ApiError, wire};

/// Often enough for proxies not to hang up on a quiet chain.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const TOO_MANY: ApiError = ApiError::RateLimited { retry_after: 60, advice: "; as many streams are open as may be" };

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stream_blocks))
}

/// New blocks as they are indexed
///
/// Server-sent events. The first `block` event tells the newest block, each later one the newest after a change: a block
/// that was added, or the one that is newest after blocks were taken back. While blocks come faster than they are read,
/// those in between are passed over. `data` is a block, `id` its hash. Opening a stream does not count against the
/// limit of requests; a client may have 32 of them open. When 2,000 are open in all, a client that has fewer than another
/// gets one of that other's, whose stream ends.
#[utoipa::path(
    get,
    path = "/stream",
    tag = "chain",
    responses(
        (status = 200, description = "Events named `block`", body = wire::Block, content_type = "text/event-stream"),
        Unavailable
    )
)]
async fn stream_blocks(
    State(app): State<App>,
    peer: ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let client = app.admission.proxies.client(peer.ip(), &headers);
    let listening = app.streams.admit(client).ok_or(TOO_MANY)?;
    let mut tips = app.sync.clone();
    tips.mark_changed();
    let told = None;
    let events = stream::unfold((app, tips, told, listening), |(app, mut tips, mut told, listening)| async move {
        loop {
            // Following ends with the process, and the stream with it.
            tokio::select! {
                changed = tips.changed() => changed.ok()?,
                () = listening.evicted() => return None,
            }
            let tip = tips.borrow_and_update().tip;
            if tip == told {
                continue;
            }
            told = tip;
            if let Some(event) = event_of(&app, tip?).await {
                return Some((Ok(event), (app, tips, told, listening)));
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// None where the block is gone again, or cannot be read now: the next one will tell.
async fn event_of(app: &App, tip: BlockRef) -> Option<Event> {
    let block = app.chain.find_block(BlockId::Hash(tip.hash)).await.ok().flatten()?;
    let id = format!("{:#x}", block.hash);
    Event::default().event("block").id(id).json_data(wire::Block::from(block)).ok()
}
