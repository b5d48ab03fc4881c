mod connections;
mod leftover;
mod stall;

use std::{io, net::SocketAddr, pin::pin, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request},
    http::{StatusCode, header::CONTENT_LENGTH},
    response::Response,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

pub use connections::ConnectionLimits;
use connections::{Connections, Open};
use leftover::ReadToTheEnd;
use stall::CutWhenStalled;

/// For the first byte of the first request: a connection that only sits there is closed.
const FIRST_BYTE_PATIENCE: Duration = Duration::from_secs(5);
/// For the head of a request to arrive whole, from the opening of the connection or the end of the answer before.
const HEAD_PATIENCE: Duration = Duration::from_secs(15);
/// The head of a request may be this long; the URL's own bound lies well below.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// For requests in flight when the service stops, or when their connection makes room for another client's.
const GRACE: Duration = Duration::from_secs(1);
/// Before the next try to accept where the process has run out of something, descriptors most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until cancelled; then takes no more connections, gives requests in flight a moment to end, and returns.
///
/// Handlers find the peer's address as [`ConnectInfo`]. Clients that are slow to ask or to listen are cut off, and so are
/// those that open more connections than they may.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    cancel: CancellationToken,
) -> io::Result<()> {
    let tasks = TaskTracker::new();
    let connections = Connections::new(limits);
    let mut number = 0;
    while let Some(accepted) = cancel.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, peer)) => {
                number += 1;
                match connections.admit(peer.ip(), number) {
                    Ok(open) => {
                        tasks.spawn(serve_connection(stream, peer, open, router.clone(), cancel.clone()));
                    }
                    Err(why) => {
                        tracing::debug!(%peer, ?why, "connection refused");
                        connections::refuse(&stream, why);
                    }
                }
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                cancel.run_until_cancelled(sleep(ACCEPT_PAUSE)).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
    Ok(())
}

async fn serve_connection(stream: TcpStream, peer: SocketAddr, open: Open, router: Router, cancel: CancellationToken) {
    let mut first = [0; 1];
    let first_byte = timeout(FIRST_BYTE_PATIENCE, stream.peek(&mut first));
    let begun = tokio::select! {
        begun = first_byte => matches!(begun, Ok(Ok(1))),
        () = open.evicted() => false,
        () = cancel.cancelled() => false,
    };
    if !begun {
        return;
    }
    // Answers are written whole: waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, %peer, "connection lost before its first request");
        return;
    }
    let answer = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        let (head, body) = request.into_parts();
        let body = Body::new(ReadToTheEnd::new(body, &head.headers));
        let answered = router.clone().oneshot(Request::from_parts(head, body));
        async { answered.await.map(without_false_length) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(CutWhenStalled::new(stream)), answer);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = async { tokio::select! { () = cancel.cancelled() => {}, () = open.evicted() => {} } } => {
            connection.as_mut().graceful_shutdown();
            timeout(GRACE, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "connection ended early");
    }
}

/// The router gives every empty body a length of 0, but on a 304 a length speaks of the body that is spared.
fn without_false_length(mut response: Response) -> Response {
    if response.status() == StatusCode::NOT_MODIFIED {
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

/// Some errors of `accept` tell of the connection that was to be accepted, not of the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests;
