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
use crate::{error::ApiError, wire};

/// Often enough that proxies do not close the connection on a quiet chain.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const TOO_MANY: ApiError = ApiError::RateLimited { retry_after: 60, advice: "; the maximum number of streams is open" };

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stream_blocks))
}

/// New blocks as they are indexed
///
/// Server-sent events. The first `block` event has the newest block; each later one has the newest block after a change,
/// which is a new block or the new tip after a reorg. If blocks arrive faster than the client reads, intermediate ones are
/// skipped. `data` is a block, `id` its hash. Streams do not count against the rate limit; a client may have 32 open. When
/// 2,000 streams are open in total, a client with few streams replaces the oldest stream of the client with the most.
#[utoipa::path(
    get,
    path = "/stream",
    tag = "chain",
    responses(
        (status = 200, description = "Events named `block`", body = wire::Block, content_type = "text/event-stream")
    )
)]
async fn stream_blocks(
    State(app): State<App>,
    peer: ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let client = app.admission.proxies.client(peer.ip(), &headers);
    let slot = app.streams.admit(client).ok_or(TOO_MANY)?;
    let mut tips = app.sync.clone();
    tips.mark_changed();
    let sent = None;
    let events = stream::unfold((app, tips, sent, slot), |(app, mut tips, mut sent, slot)| async move {
        loop {
            // The channel closes when the process stops.
            tokio::select! {
                changed = tips.changed() => changed.ok()?,
                () = slot.evicted() => return None,
            }
            let tip = tips.borrow_and_update().tip;
            if tip == sent {
                continue;
            }
            sent = tip;
            if let Some(event) = event_of(&app, tip?).await {
                return Some((Ok(event), (app, tips, sent, slot)));
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// None if the block was reverted meanwhile or cannot be read now: the next event follows.
async fn event_of(app: &App, tip: BlockRef) -> Option<Event> {
    let block = app.chain.find_block(BlockId::Hash(tip.hash)).await.ok().flatten()?;
    let id = format!("{:#x}", block.hash);
    Event::default().event("block").id(id).json_data(wire::Block::from(block)).ok()
}
