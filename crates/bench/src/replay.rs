//! A node that serves the recorded chain; everything else is forwarded to the in-process dev chain.

mod conditions;
mod pieces;
mod request;
mod spoiled;

use std::{
    collections::{BTreeMap, VecDeque},
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use devchain::DevChain;
use http_body_util::BodyExt;
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

pub(crate) use self::conditions::Conditions;
use self::{
    conditions::Fault,
    pieces::Pieces,
    request::{Call, RpcBody},
};
use crate::recording::Recording;

/// A running server; it stops when this is dropped.
pub(crate) struct Replay {
    url: String,
    accepting: JoinHandle<()>,
    node: Arc<Node>,
}

struct Node {
    recording: Arc<Recording>,
    chain: DevChain,
    conditions: Conditions,
    requests: AtomicU64,
    refused: AtomicU64,
    /// Calls so far, by method.
    calls: Mutex<BTreeMap<String, u64>>,
    /// When the requests of the last second were admitted.
    admitted: Mutex<VecDeque<Instant>>,
    /// When the latest block above the recording was served.
    served: watch::Sender<Option<ServedBlock>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ServedBlock {
    pub(crate) number: u64,
    block: Option<Instant>,
    receipts: Option<Instant>,
}

impl ServedBlock {
    /// When the later of the two responses was sent.
    fn completed_at(self) -> Option<Instant> {
        Some(self.block?.max(self.receipts?))
    }
}

impl Replay {
    pub(crate) async fn start(
        recording: Arc<Recording>,
        chain: DevChain,
        conditions: Conditions,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (served, _) = watch::channel(None);
        let node = Arc::new(Node {
            recording,
            chain,
            conditions,
            requests: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            calls: Mutex::default(),
            admitted: Mutex::default(),
            served,
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&node)));
        Ok(Self { url, accepting, node })
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// HTTP requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.node.requests.load(Ordering::Relaxed)
    }

    /// Calls so far, by method. A batch is as many calls as it contains.
    pub(crate) fn calls(&self) -> BTreeMap<String, u64> {
        self.node.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// HTTP requests rejected by the rate limit.
    pub(crate) fn refused(&self) -> u64 {
        self.node.refused.load(Ordering::Relaxed)
    }

    /// Waits until a block above the recording and its receipts were served, and returns the time.
    pub(crate) async fn served_at(&self, number: u64) -> anyhow::Result<Instant> {
        let mut served = self.node.served.subscribe();
        let known = |served: &Option<ServedBlock>| {
            served.is_some_and(|served| served.number == number && served.completed_at().is_some())
        };
        let found = *served.wait_for(known).await?;
        found.and_then(ServedBlock::completed_at).context("no time was recorded")
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, node: Arc<Node>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        // Nagle's algorithm would delay responses.
        let _ = stream.set_nodelay(true);
        let node = Arc::clone(&node);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let node = Arc::clone(&node);
                async move { node.serve(request).await }
            });
            // Fails if the client disconnects, or if hanging up is the injected fault.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Node {
    async fn serve(&self, request: Request<Incoming>) -> anyhow::Result<Response<Pieces>> {
        let body = request.into_body().collect().await?.to_bytes();
        if self.conditions.per_second.is_some_and(|most| !self.take_call(most)) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Ok(status(StatusCode::TOO_MANY_REQUESTS));
        }
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        if !self.conditions.round_trip.is_zero() {
            tokio::time::sleep(self.conditions.round_trip).await;
        }
        let fault = self.conditions.fault(number);
        match fault {
            Some(Fault::BadGateway) => return Ok(status(StatusCode::BAD_GATEWAY)),
            Some(Fault::Unavailable) => return Ok(status(StatusCode::SERVICE_UNAVAILABLE)),
            Some(Fault::Limited) => return Ok(status(StatusCode::TOO_MANY_REQUESTS)),
            Some(Fault::InternalError) => return Ok(json(error_response(-32603, "internal error"))),
            Some(Fault::HangUp) => anyhow::bail!("injected fault: hanging up"),
            Some(Fault::Stall(time)) => tokio::time::sleep(time).await,
            None | Some(Fault::Cut | Fault::NoBlock | Fault::WrongParent | Fault::AnotherNumber) => {}
        }
        let body = match fault {
            Some(Fault::AnotherNumber) => spoiled::other_block(body),
            _ => body,
        };
        let response = self.response(body).await?;
        Ok(json(match fault {
            Some(fault @ (Fault::Cut | Fault::NoBlock | Fault::WrongParent)) => {
                spoiled::response(fault, response).await?
            }
            _ => response,
        }))
    }

    /// Whether the rate limit admits another request.
    fn take_call(&self, most: usize) -> bool {
        let (mut admitted, now) = (self.admitted.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        while admitted.front().is_some_and(|then| now.duration_since(*then) >= Duration::from_secs(1)) {
            admitted.pop_front();
        }
        let fits = admitted.len() < most;
        if fits {
            admitted.push_back(now);
        }
        fits
    }

    async fn response(&self, body: Bytes) -> anyhow::Result<Pieces> {
        let Some(body) = RpcBody::read(&body) else { return Ok(error_response(-32700, "parse error")) };
        let mut response = Pieces::default();
        match body {
            RpcBody::Single(call) => self.handle_call(call, &mut response).await?,
            RpcBody::Batch(calls) if self.conditions.largest_batch.is_some_and(|most| calls.len() > most) => {
                return Ok(error_response(-32600, "batch too large"));
            }
            RpcBody::Batch(calls) => {
                for (index, call) in calls.into_iter().enumerate() {
                    response.push(Bytes::from_static(if index == 0 { b"[" } else { b"," }));
                    self.handle_call(call, &mut response).await?;
                }
                response.push(Bytes::from_static(b"]"));
            }
        }
        if self.conditions.largest_response.is_some_and(|most| response.len() > most) {
            return Ok(error_response(-32008, "response too large"));
        }
        Ok(response)
    }

    async fn handle_call(&self, call: Call<'_>, response: &mut Pieces) -> anyhow::Result<()> {
        self.count(call.method());
        let of_network = match (self.conditions.client_version, call.method()) {
            (Some(version), "web3_clientVersion") => Some(version),
            (Some(_), "eth_chainId") => Some("0x1"),
            _ => None,
        };
        if let Some(result) = of_network {
            response.push(format!(r#"{{"jsonrpc":"2.0","id":{},"result":"{result}"}}"#, call.id()).into());
            return Ok(());
        }
        if !self.conditions.traces && devchain::is_trace(call.method()) {
            let error = r#"{"code":-32601,"message":"the method does not exist"}"#;
            response.push(format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, call.id()).into());
            return Ok(());
        }
        let recorded = match call.requested_block() {
            Some((number, request::View::Full)) => self.recording.block(number)?,
            Some((number, request::View::Receipts)) => self.recording.receipts(number)?,
            None => None,
        };
        if let Some(result) = recorded {
            response.push(format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, call.id()).into());
            response.push(result);
            response.push(Bytes::from_static(b"}"));
            return Ok(());
        }
        let (chain, text) = (self.chain.clone(), call.text().to_owned());
        // Calls may execute for a while, so they run on the blocking pool.
        let forwarded = tokio::task::spawn_blocking(move || chain.answer(text.as_bytes())).await?;
        response.push(forwarded.context("a notification has no response")?.into());
        if let Some((number, view)) = call.requested_block() {
            self.record_served(number, view);
        }
        Ok(())
    }

    fn count(&self, method: &str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls.entry(method.to_owned()).or_default() += 1;
    }

    fn record_served(&self, number: u64, view: request::View) {
        let now = Some(Instant::now());
        self.served.send_modify(|served| {
            let known = served.filter(|served| served.number == number);
            let mut updated = known.unwrap_or(ServedBlock { number, block: None, receipts: None });
            match view {
                request::View::Full => updated.block = now,
                request::View::Receipts => updated.receipts = now,
            }
            *served = Some(updated);
        });
    }
}

fn status(status: StatusCode) -> Response<Pieces> {
    let mut response = Response::new(Pieces::default());
    *response.status_mut() = status;
    response
}

fn json(body: Pieces) -> Response<Pieces> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// One error for the whole request.
fn error_response(code: i32, message: &str) -> Pieces {
    let error = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{message}"}}}}"#);
    let mut response = Pieces::default();
    response.push(error.into());
    response
}
