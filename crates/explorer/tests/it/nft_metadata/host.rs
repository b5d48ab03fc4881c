//! A host of metadata and images, with a log of the requests.

use std::{
    collections::HashMap,
    net::Ipv4Addr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, task::JoinHandle};

#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// Content type and body.
    Content(&'static str, Vec<u8>),
    Redirect(String),
    /// Never responds.
    Hang,
}

impl Reply {
    pub(super) fn json(text: impl Into<String>) -> Self {
        Self::Content("application/json", text.into().into_bytes())
    }

    pub(super) fn png() -> Self {
        Self::Content("application/octet-stream", PNG.to_vec())
    }
}

/// The start of a PNG file.
pub(super) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[derive(Debug, Default)]
struct HostState {
    replies: Mutex<HashMap<String, Reply>>,
    requests: Mutex<Vec<String>>,
}

#[derive(Debug)]
pub(super) struct Host {
    pub(super) url: String,
    state: Arc<HostState>,
    serving: JoinHandle<()>,
}

impl Host {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(HostState::default());
        let router = Router::new().fallback(reply).with_state(Arc::clone(&state));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, state, serving }
    }

    pub(super) fn port(&self) -> &str {
        self.url.rsplit(':').next().unwrap()
    }

    /// Sets the reply of a path, and returns its URL.
    pub(super) fn put(&self, path: &str, reply: Reply) -> String {
        self.state.replies.lock().unwrap().insert(path.to_owned(), reply);
        format!("{}{path}", self.url)
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.state.requests.lock().unwrap().clone()
    }

    pub(super) fn stop(&self) {
        self.serving.abort();
    }
}

async fn reply(State(state): State<Arc<HostState>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    state.requests.lock().unwrap().push(path.clone());
    let reply = state.replies.lock().unwrap().get(&path).cloned();
    match reply {
        Some(Reply::Content(kind, body)) => ([(header::CONTENT_TYPE, kind)], Body::from(body)).into_response(),
        Some(Reply::Redirect(to)) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Some(Reply::Hang) => std::future::pending().await,
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
