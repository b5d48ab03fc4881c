//! JSON-RPC over HTTP and WebSocket on one port.

mod blocks;
mod control;
mod dispatch;
mod error;
mod execution;
mod fees;
mod handler;
mod logs;
mod network;
mod params;
mod protocol;
mod state;
mod subscriptions;
mod traces;
mod transactions;
mod wire;

use std::{io, net::SocketAddr};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
    serve::ListenerExt,
};
use futures::future::BoxFuture;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tower_http::cors::CorsLayer;

pub use self::traces::is_trace;
use crate::DevChain;

/// A running JSON-RPC server; it stops when this is dropped.
#[derive(Debug)]
pub struct RpcServer {
    address: SocketAddr,
    stop: CancellationToken,
    task: Option<JoinHandle<io::Result<()>>>,
}

impl RpcServer {
    /// The URL for JSON-RPC over HTTP.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The URL for JSON-RPC over WebSocket, with subscriptions.
    pub fn ws_url(&self) -> String {
        format!("ws://{}", self.address)
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening and waits for requests in flight.
    pub fn shutdown(mut self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.stop.cancel();
            if let Some(task) = self.task.take()
                && let Err(error) = task.await
            {
                tracing::warn!(%error, "JSON-RPC server did not shut down cleanly");
            }
        })
    }
}

impl Drop for RpcServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[derive(Debug, Clone)]
struct Node {
    chain: DevChain,
    stop: CancellationToken,
}

impl DevChain {
    /// Handles a JSON-RPC request or batch without a socket; `None` if it contains only notifications.
    pub fn answer(&self, body: &[u8]) -> Option<Vec<u8>> {
        protocol::answer(body, |method, params| dispatch::dispatch(self, method, params))
    }

    /// Serves JSON-RPC; with port 0 the system chooses a free port.
    pub fn serve(&self, listen: SocketAddr) -> BoxFuture<'_, io::Result<RpcServer>> {
        Box::pin(async move {
            let listener = TcpListener::bind(listen).await?;
            let address = listener.local_addr()?;
            let stop = CancellationToken::new();
            let node = Node { chain: self.clone(), stop: stop.clone() };
            let router = Router::new()
                .route("/", post(handle_http).get(subscriptions::open_socket))
                // Browser wallets send requests from any origin.
                .layer(CorsLayer::permissive())
                .with_state(node);
            // Responses are single small writes, which Nagle's algorithm would only delay.
            let listener = listener.tap_io(|stream| {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot set TCP_NODELAY");
                }
            });
            let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
            Ok(RpcServer { address, stop, task: Some(tokio::spawn(server.into_future())) })
        })
    }
}

async fn handle_http(State(node): State<Node>, body: Bytes) -> Response {
    // Calls may execute for a while, so they run on the blocking pool.
    let answer = tokio::task::spawn_blocking(move || node.chain.answer(&body)).await;
    match answer {
        Ok(Some(json)) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Ok(None) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => {
            tracing::error!(%error, "JSON-RPC request panicked");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
