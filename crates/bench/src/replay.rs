//! The recorded chain as a node: its answers straight from memory, everything else asked of the dev chain in process.

mod conditions;
mod pieces;
mod request;

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use devchain::DevChain;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) use self::conditions::Conditions;
use self::conditions::Fault;
use self::pieces::Pieces;
use self::request::{Asked, Call};
use crate::recording::Recording;

/// Serves until it is dropped.
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
    /// When the requests of the last second were admitted.
    admitted: Mutex<VecDeque<Instant>>,
    /// The newest block above the recording whose whole content was given away, and when.
    given: watch::Sender<Option<Given>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    pub(crate) number: u64,
    block: Option<Instant>,
    receipts: Option<Instant>,
}

impl Given {
    /// When the later of the two answers went out.
    fn whole(self) -> Option<Instant> {
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
        let (given, _) = watch::channel(None);
        let node = Arc::new(Node {
            recording,
            chain,
            conditions,
            requests: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            admitted: Mutex::default(),
            given,
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

    /// HTTP requests that the rate limit turned away.
    pub(crate) fn refused(&self) -> u64 {
        self.node.refused.load(Ordering::Relaxed)
    }

    /// Waits until a block above the recording and its receipts were given away, and tells when that was.
    pub(crate) async fn given(&self, number: u64) -> anyhow::Result<Instant> {
        let mut given = self.node.given.subscribe();
        let known =
            |given: &Option<Given>| given.is_some_and(|given| given.number == number && given.whole().is_some());
        let found = *given.wait_for(known).await?;
        found.and_then(Given::whole).context("no time was kept")
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
        // Without it an answer waits to fill a packet.
        let _ = stream.set_nodelay(true);
        let node = Arc::clone(&node);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let node = Arc::clone(&node);
                async move { node.serve(request).await }
            });
            // Fails where the other side leaves, or where leaving it is the fault that was drawn.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Node {
    async fn serve(&self, request: Request<Incoming>) -> anyhow::Result<Response<Pieces>> {
        let body = request.into_body().collect().await?.to_bytes();
        if self.conditions.per_second.is_some_and(|most| !self.admit(most)) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            let mut response = Response::new(Pieces::default());
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            return Ok(response);
        }
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        if !self.conditions.round_trip.is_zero() {
            tokio::time::sleep(self.conditions.round_trip).await;
        }
        match self.conditions.fault(number) {
            None => {}
            Some(Fault::BadGateway) => {
                let mut response = Response::new(Pieces::default());
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                return Ok(response);
            }
            Some(Fault::InternalError) => return Ok(json(refusal(-32603, "internal error"))),
            Some(Fault::HangUp) => anyhow::bail!("hanging up, as drawn"),
        }
        Ok(json(self.answer(body).await?))
    }

    /// Whether one more request fits into the last second.
    fn admit(&self, most: usize) -> bool {
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

    async fn answer(&self, body: Bytes) -> anyhow::Result<Pieces> {
        let Some(asked) = Asked::read(&body) else { return Ok(refusal(-32700, "parse error")) };
        let mut answer = Pieces::default();
        match asked {
            Asked::One(call) => self.answer_call(call, &mut answer).await?,
            Asked::Batch(calls) if self.conditions.largest_batch.is_some_and(|most| calls.len() > most) => {
                return Ok(refusal(-32600, "batch too large"));
            }
            Asked::Batch(calls) => {
                for (place, call) in calls.into_iter().enumerate() {
                    answer.push(Bytes::from_static(if place == 0 { b"[" } else { b"," }));
                    self.answer_call(call, &mut answer).await?;
                }
                answer.push(Bytes::from_static(b"]"));
            }
        }
        if self.conditions.largest_answer.is_some_and(|most| answer.len() > most) {
            return Ok(refusal(-32008, "response too large"));
        }
        Ok(answer)
    }

    async fn answer_call(&self, call: Call<'_>, answer: &mut Pieces) -> anyhow::Result<()> {
        let recorded = match call.of_block() {
            Some((number, request::View::Full)) => self.recording.block(number)?,
            Some((number, request::View::Receipts)) => self.recording.receipts(number)?,
            None => None,
        };
        if let Some(result) = recorded {
            answer.push(format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, call.id()).into());
            answer.push(result);
            answer.push(Bytes::from_static(b"}"));
            return Ok(());
        }
        let (chain, text) = (self.chain.clone(), call.text().to_owned());
        // A call may execute for a while, so none runs on the threads that serve sockets.
        let forwarded = tokio::task::spawn_blocking(move || chain.answer(text.as_bytes())).await?;
        answer.push(forwarded.context("a notification is not answered")?.into());
        if let Some((number, view)) = call.of_block() {
            self.note(number, view);
        }
        Ok(())
    }

    fn note(&self, number: u64, view: request::View) {
        let now = Some(Instant::now());
        self.given.send_modify(|given| {
            let known = given.filter(|given| given.number == number);
            let mut noted = known.unwrap_or(Given { number, block: None, receipts: None });
            match view {
                request::View::Full => noted.block = now,
                request::View::Receipts => noted.receipts = now,
            }
            *given = Some(noted);
        });
    }
}

fn json(body: Pieces) -> Response<Pieces> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// One error for all that was asked.
fn refusal(code: i32, message: &str) -> Pieces {
    let error = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{message}"}}}}"#);
    let mut answer = Pieces::default();
    answer.push(error.into());
    answer
}
