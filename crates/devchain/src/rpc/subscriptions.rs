//! JSON-RPC over WebSocket, with subscriptions to new heads.

use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::U64;
use axum::{
    extract::{
        State,
        ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade},
    },
    response::Response,
};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::{
    Node, dispatch,
    error::RpcError,
    params::Params,
    protocol::{self, Reply, reply},
    wire,
};
use crate::{DevChain, block::MinedBlock};

/// The subscriptions of one socket.
#[derive(Debug, Default)]
struct Subscriptions {
    heads: BTreeSet<u64>,
    last_id: u64,
}

pub(super) async fn open_socket(State(node): State<Node>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|socket| serve_socket(socket, node))
}

async fn serve_socket(mut socket: WebSocket, node: Node) {
    let mut blocks = node.chain.subscribe_blocks();
    let mut subscriptions = Subscriptions::default();
    loop {
        let sent = tokio::select! {
            () = node.stop.cancelled() => return,
            block = blocks.recv() => match block {
                Ok(block) => notify(&mut socket, &subscriptions, &block).await,
                // A slow client misses heads, as with any node.
                Err(RecvError::Lagged(_)) => Ok(()),
                Err(RecvError::Closed) => return,
            },
            message = socket.recv() => {
                let body = match message {
                    Some(Ok(Message::Text(text))) => axum::body::Bytes::from(text),
                    Some(Ok(Message::Binary(bytes))) => bytes,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                };
                let chain = node.chain.clone();
                let answered = tokio::task::spawn_blocking(move || {
                    let answer = protocol::answer(&body, |method, params| {
                        subscriptions.dispatch(&chain, method, params)
                    });
                    (subscriptions, answer)
                })
                .await;
                let Ok((after, answer)) = answered else { return };
                subscriptions = after;
                match answer {
                    Some(json) => send(&mut socket, json).await,
                    None => Ok(()),
                }
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

impl Subscriptions {
    fn dispatch(&mut self, chain: &DevChain, method: &str, params: Params) -> Result<Reply, RpcError> {
        match method {
            "eth_subscribe" => self.subscribe(params),
            "eth_unsubscribe" => self.unsubscribe(params),
            other => dispatch::dispatch(chain, other, params),
        }
    }

    fn subscribe(&mut self, mut params: Params) -> Result<Reply, RpcError> {
        let kind: String = params.required(0, "kind of subscription")?;
        if kind != "newHeads" {
            let message = format!("no \"{kind}\" subscription, only \"newHeads\"");
            return Err(RpcError::invalid_params(message));
        }
        self.last_id += 1;
        self.heads.insert(self.last_id);
        reply(&U64::from(self.last_id))
    }

    fn unsubscribe(&mut self, mut params: Params) -> Result<Reply, RpcError> {
        let id: U64 = params.required(0, "subscription")?;
        reply(&self.heads.remove(&id.to()))
    }
}

async fn notify(
    socket: &mut WebSocket,
    subscriptions: &Subscriptions,
    block: &Arc<MinedBlock>,
) -> Result<(), axum::Error> {
    for id in &subscriptions.heads {
        let notification = json!({
            "jsonrpc": "2.0",
            "method": "eth_subscription",
            "params": { "subscription": U64::from(*id), "result": wire::header(block) },
        });
        send(socket, notification.to_string().into_bytes()).await?;
    }
    Ok(())
}

async fn send(socket: &mut WebSocket, json: Vec<u8>) -> Result<(), axum::Error> {
    // serde_json writes valid UTF-8, so nothing is replaced.
    let text = Utf8Bytes::from(String::from_utf8_lossy(&json).into_owned());
    socket.send(Message::Text(text)).await
}
