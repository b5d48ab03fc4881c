//! The admin interface: HTTP for the operator, on a unix socket and, if configured, on a port that requires a token.

mod backups;
mod client;
mod commands;
mod metrics;
mod socket;
mod token;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use ::metrics::Text;
use anyhow::Context;
use api::ConnectionLimits;
use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use client_address::TrustedProxies;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::socket::AdminSocket;
pub(crate) use self::{
    backups::{ARCHIVE, Backups, RECORDS, SNAPSHOT},
    client::AdminClient,
    commands::{BLOCKS, COMPACT, CONTRACTS, KEYS, LOG, LogChange, Operated, RELOAD, TOKEN, WEBHOOKS},
    metrics::{Served, Sources},
    token::{AdminToken, TokenSource},
};

pub(crate) const METRICS: &str = "/metrics";

/// Few: it is for the operator and for one or two programs that collect metrics.
const MAX_CONNECTIONS: usize = 64;

/// Where the admin interface listens.
#[derive(Debug, Default)]
pub(crate) struct AdminConfig {
    pub(crate) socket: Option<SocketConfig>,
    pub(crate) listen: Option<(SocketAddr, TokenSource)>,
}

#[derive(Debug)]
pub(crate) struct SocketConfig {
    pub(crate) path: PathBuf,
    /// Whether the operator asked for it; otherwise the service starts without the socket, too.
    pub(crate) is_required: bool,
}

/// A running admin interface. The socket is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Admin {
    _socket: Option<AdminSocket>,
}

impl Admin {
    pub(crate) async fn start(
        config: AdminConfig,
        sources: Sources,
        operated: Operated,
        backups: Backups,
        cancel: &CancellationToken,
    ) -> anyhow::Result<Self> {
        let router = router(Arc::new(sources)).merge(commands::router(Arc::new(operated)));
        let socket = match config.socket {
            Some(socket) => open_socket(&socket)?,
            None => None,
        };
        let socket = socket.map(|(socket, listener)| {
            tracing::info!(path = %socket.path().display(), "the admin interface listens on a socket");
            // Not on a port: whoever collects metrics must not be able to read the key of webhook secrets.
            let router = router.clone().merge(backups::router(Arc::new(backups)));
            let serving = axum::serve(listener, router).with_graceful_shutdown(cancel.clone().cancelled_owned());
            tokio::spawn(async move { serving.await });
            socket
        });
        if let Some((address, token)) = config.listen {
            let token = Arc::new(token.load()?);
            let listener = TcpListener::bind(address).await.with_context(|| {
                format!("cannot listen on {address}: choose another address with --admin-listen, or stop the process that uses it")
            })?;
            let address = listener.local_addr()?;
            tracing::info!(%address, "the admin interface listens on a port");
            let guarded = router.layer(from_fn_with_state(token, require_token));
            let limits = ConnectionLimits {
                total: MAX_CONNECTIONS,
                per_client: MAX_CONNECTIONS,
                proxies: TrustedProxies::default(),
            };
            tokio::spawn(api::serve(listener, guarded, limits, cancel.clone()));
        }
        Ok(Self { _socket: socket })
    }
}

fn open_socket(config: &SocketConfig) -> anyhow::Result<Option<(AdminSocket, tokio::net::UnixListener)>> {
    match AdminSocket::bind(&config.path) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if config.is_required => Err(error.into()),
        Err(error) => {
            tracing::warn!(%error, "there is no admin socket: choose another path with --admin-socket");
            Ok(None)
        }
    }
}

fn router(sources: Arc<Sources>) -> Router {
    Router::new()
        .route(METRICS, get(get_metrics))
        .fallback(async || (StatusCode::NOT_FOUND, "no such path\n"))
        .with_state(sources)
}

async fn get_metrics(State(sources): State<Arc<Sources>>) -> Response {
    ([(header::CONTENT_TYPE, Text::CONTENT_TYPE)], sources.write().await).into_response()
}

async fn require_token(State(token): State<Arc<AdminToken>>, request: Request, next: Next) -> Response {
    if token.is_in(request.headers()) {
        return next.run(request).await;
    }
    let advice = "send the admin token: Authorization: Bearer TOKEN\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], advice).into_response()
}
