use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::post,
};
use devchain::{DevChain, DevChainConfig};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::support::TestExplorer;

/// Blocks shared by both branches.
const COMMON: usize = 5;

/// A node that serves one of two branches of a chain and can switch between them, so that the same block can be orphaned
/// and become canonical again.
#[derive(Debug)]
pub(super) struct ForkedNode {
    pub(super) first: DevChain,
    pub(super) second: DevChain,
    current: Arc<Mutex<DevChain>>,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl ForkedNode {
    pub(super) async fn start() -> Self {
        let branch = || {
            let chain = DevChain::new(DevChainConfig::default());
            (0..COMMON).for_each(|_| {
                chain.mine(None);
            });
            chain
        };
        let (first, second) = (branch(), branch());
        assert_eq!(first.head(), second.head(), "the same calls make the same blocks");
        let current = Arc::new(Mutex::new(first.clone()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", post(answer)).with_state(Arc::clone(&current));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { first, second, current, address, serving }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Mines blocks on the second branch that the first does not have, one more than it has, and switches to it.
    pub(super) fn switch_to_second(&self) {
        while self.second.head().number <= self.first.head().number {
            // A different timestamp makes a different block.
            self.second.mine(Some(self.second.head().timestamp + 2));
        }
        *self.current.lock().unwrap() = self.second.clone();
    }

    /// Mines empty blocks on the first branch until it is the longer one, and switches back to it.
    pub(super) fn switch_back(&self) {
        while self.first.head().number <= self.second.head().number {
            self.first.mine(None);
        }
        *self.current.lock().unwrap() = self.first.clone();
    }

    /// Waits until the explorer has the head of the chain.
    pub(super) async fn wait_for(&self, explorer: &TestExplorer) {
        let head = self.current.lock().unwrap().head();
        explorer.wait_for_tip(head.number, &head.hash.to_string()).await;
    }
}

impl Drop for ForkedNode {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(current): State<Arc<Mutex<DevChain>>>, body: Bytes) -> Response {
    let chain = current.lock().unwrap().clone();
    ([(CONTENT_TYPE, "application/json")], chain.answer(&body).unwrap_or_default()).into_response()
}
