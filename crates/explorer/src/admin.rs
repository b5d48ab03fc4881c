//! The admin interface: HTTP for the operator, on a unix socket and, if configured, on a port that requires a token.

mod backups;
pub(crate) mod client;
pub(crate) mod context;
mod failed;
mod guesses;
pub(crate) mod metrics;
pub(crate) mod names;
pub(crate) mod paths;
pub(crate) mod routes;
mod socket;
mod token;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use ::metrics::Text;
use anyhow::Context;
use api::ConnectionLimits;
use axum::{
    Router,
    extract::{ConnectInfo, Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use client_address::{Client, TrustedProxies};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) use self::backups::Backups;
use self::{context::AdminContext, guesses::Guesses, metrics::Sources, socket::AdminSocket, token::AdminToken};
use crate::config::admin::{AdminConfig, AdminPort, SocketConfig};

/// Few: it is for the operator and for one or two programs that collect metrics.
const MAX_CONNECTIONS: usize = 64;
/// Fewer, so that one client that guesses tokens does not lock out the others.
const MAX_CONNECTIONS_PER_CLIENT: usize = 16;

/// A running admin interface. The socket is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Admin {
    _socket: Option<AdminSocket>,
}

impl Admin {
    pub(crate) async fn start(
        config: AdminConfig,
        sources: Sources,
        context: AdminContext,
        backups: Backups,
        cancel: &CancellationToken,
    ) -> anyhow::Result<Self> {
        let router = router(Arc::new(sources)).merge(routes::router(Arc::new(context)));
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
        if let Some(AdminPort { address, token, metrics_token_folder }) = config.listen {
            let tokens = Arc::new(Tokens {
                all: AdminToken::load(&token)?,
                metrics: AdminToken::of_metrics(&metrics_token_folder)?,
                guesses: Guesses::default(),
            });
            let listener = TcpListener::bind(address).await.with_context(|| {
                format!("cannot listen on {address}: choose another address with --admin-listen, or stop the process that uses it")
            })?;
            let address = listener.local_addr()?;
            tracing::info!(%address, "the admin interface listens on a port");
            let guarded = router.layer(from_fn_with_state(tokens, require_token));
            let limits = ConnectionLimits {
                total: MAX_CONNECTIONS,
                per_client: MAX_CONNECTIONS_PER_CLIENT,
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
        .route(paths::METRICS, get(get_metrics))
        .fallback(async || (StatusCode::NOT_FOUND, "no such path\n"))
        .with_state(sources)
}

async fn get_metrics(State(sources): State<Arc<Sources>>) -> Response {
    ([(header::CONTENT_TYPE, Text::CONTENT_TYPE)], sources.write().await).into_response()
}

/// The tokens of a port.
struct Tokens {
    all: AdminToken,
    metrics: AdminToken,
    guesses: Guesses,
}

async fn require_token(State(tokens): State<Arc<Tokens>>, request: Request, next: Next) -> Response {
    let client = client_of(&request);
    let has_token = request.headers().contains_key(header::AUTHORIZATION);
    let permit = if has_token { Some(tokens.guesses.acquire(client).await) } else { None };
    let is_metrics = request.uri().path() == paths::METRICS;
    if tokens.all.is_in(request.headers()) || is_metrics && tokens.metrics.is_in(request.headers()) {
        drop(permit);
        return next.run(request).await;
    }
    if let Some(permit) = permit {
        tokens.guesses.delay_answer(permit).await;
    }
    let advice = "send the admin token: Authorization: Bearer TOKEN\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], advice).into_response()
}

fn client_of(request: &Request) -> Client {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    Client::of(peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip()))
}
