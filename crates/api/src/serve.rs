mod connections;
mod drain_body;
mod turns;
mod write_timeout;

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use admission::{Turn, Turns};
use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request},
    http::{StatusCode, header::CONTENT_LENGTH, request::Parts},
    response::Response,
};
use client_address::TrustedProxies;
pub use connections::ConnectionLimits;
use connections::{ConnectionSlot, Connections};
use drain_body::DrainedBody;
use futures::future::BoxFuture;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use write_timeout::WriteTimeout;

/// For the first byte of the first request: idle connections are closed.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(5);
/// For the complete head of a request, from the start of the connection or the end of the previous response.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum size of a request head; the limit for URLs is far below.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// For requests in flight when the service stops or their connection is evicted.
const GRACE: Duration = Duration::from_secs(1);
const HEALTH: [&str; 3] = ["/health", "/health/live", "/health/ready"];
/// Delay after `accept` failed, most likely because the process has no free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until cancelled, then stops accepting connections, waits a moment for requests in flight, and returns.
///
/// Handlers get the peer's address as [`ConnectInfo`]. Connections of slow clients are closed, and so are those above the
/// limits.
pub fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    cancel: CancellationToken,
) -> BoxFuture<'static, io::Result<()>> {
    Box::pin(async move {
        let tasks = TaskTracker::new();
        let proxies = Arc::new(limits.proxies.clone());
        let connections = Connections::new(limits);
        let turns = Turns::new(std::thread::available_parallelism().map_or(1, usize::from));
        let health = Turns::new(1);
        let mut number = 0;
        while let Some(accepted) = cancel.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, peer)) => {
                    number += 1;
                    match connections.take_slot(peer.ip(), number) {
                        Ok(slot) => {
                            let (turns, health) = (turns.clone(), health.clone());
                            let clients = Clients { proxies: Arc::clone(&proxies), turns, health };
                            tasks.spawn(serve_connection(stream, peer, slot, router.clone(), clients, cancel.clone()));
                        }
                        Err(reason) => {
                            tracing::debug!(%peer, ?reason, "connection rejected: too many are open");
                            connections::reject(&stream, reason);
                        }
                    }
                }
                Err(error) if is_connection_error(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections, retrying");
                    cancel.run_until_cancelled(sleep(ACCEPT_RETRY_DELAY)).await;
                }
            }
        }
        drop(listener);
        tasks.close();
        tasks.wait().await;
        Ok(())
    })
}

/// Who sends requests, and whose turn it is.
struct Clients {
    proxies: Arc<TrustedProxies>,
    turns: Turns,
    /// Checks of health wait for nobody else, and nobody for more than one of them.
    health: Turns,
}

impl Clients {
    fn turn(&self, peer: SocketAddr, head: &Parts) -> Turn {
        let turns = if HEALTH.contains(&head.uri.path()) { &self.health } else { &self.turns };
        turns.of(self.proxies.client(peer.ip(), &head.headers))
    }
}

async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    slot: ConnectionSlot,
    router: Router,
    clients: Clients,
    cancel: CancellationToken,
) {
    let mut first = [0; 1];
    let first_byte = timeout(FIRST_BYTE_TIMEOUT, stream.peek(&mut first));
    let has_data = tokio::select! {
        received = first_byte => matches!(received, Ok(Ok(1))),
        () = slot.evicted() => false,
        () = cancel.cancelled() => false,
    };
    if !has_data {
        return;
    }
    // Responses are written in one piece: Nagle's algorithm would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, %peer, "connection lost before its first request");
        return;
    }
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        let (head, body) = request.into_parts();
        let body = Body::new(DrainedBody::new(body, &head.headers));
        let turn = clients.turn(peer, &head);
        let response = turns::respond(router.clone(), Request::from_parts(head, body), turn);
        async { response.await.map(without_length_of_304) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = async { tokio::select! { () = cancel.cancelled() => {}, () = slot.evicted() => {} } } => {
            connection.as_mut().graceful_shutdown();
            timeout(GRACE, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "connection ended early");
    }
}

/// The router sets Content-Length to 0 for every empty body, but in a 304 it would be the length of the omitted body.
fn without_length_of_304(mut response: Response) -> Response {
    if response.status() == StatusCode::NOT_MODIFIED {
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

/// Some errors of `accept` belong to the accepted connection, not to the listener.
fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests;
