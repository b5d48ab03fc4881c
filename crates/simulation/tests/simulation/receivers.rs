//! Webhook receivers on a simulated network, with a log of the messages that they received.

use std::{
    convert::Infallible,
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use egress::{Connecting, Network, Stream};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rand::Rng;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    plan::ReceiverMode,
    world::{World, lock},
};

/// All received messages, in order of arrival.
#[derive(Default)]
pub(crate) struct MessageLog(Mutex<Vec<ReceivedMessage>>);

#[derive(Debug, Clone)]
pub(crate) struct ReceivedMessage {
    pub(crate) receiver: usize,
    pub(crate) id: String,
    pub(crate) body: Bytes,
    /// Whether the receiver responded with success.
    pub(crate) accepted: bool,
}

impl MessageLog {
    pub(crate) fn all(&self) -> Vec<ReceivedMessage> {
        lock(&self.0).clone()
    }
}

/// Maximum refusals per message, so that none waits for hours.
const MAX_REFUSALS: u64 = 2;

pub(crate) fn url(receiver: usize) -> String {
    format!("http://127.0.0.{}:80/hook", receiver + 1)
}

pub(crate) struct SimulatedNetwork(pub(crate) Arc<World>);

impl fmt::Debug for SimulatedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedNetwork")
    }
}

impl Network for SimulatedNetwork {
    fn connect(&self, address: SocketAddr) -> Connecting<'_> {
        let IpAddr::V4(ip) = address.ip() else { unreachable!("no receiver has such an address") };
        let receiver = usize::from(ip.octets()[3]) - 1;
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(2)).await;
            if mode(&self.0, receiver) == ReceiverMode::Down {
                return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
            }
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            tokio::spawn(serve(Arc::clone(&self.0), receiver, theirs));
            Ok(Box::new(ours) as Box<dyn Stream>)
        })
    }
}

fn mode(world: &World, receiver: usize) -> ReceiverMode {
    world.plan.receivers[receiver].at(world.now()).unwrap_or(ReceiverMode::Healthy)
}

async fn serve(world: Arc<World>, receiver: usize, stream: impl Stream + 'static) {
    let service = service_fn(move |request| receive(Arc::clone(&world), receiver, request));
    // The sender sees the same error.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn receive(
    world: Arc<World>,
    receiver: usize,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, io::Error> {
    let id = request.headers()["webhook-id"].to_str().unwrap().to_owned();
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let count = world.count_request(1_000 + receiver, xxh3_64(id.as_bytes()));
    let mut rng = world.plan.chance.of("receiver").of(&id).nth(count).rng();
    let record = |accepted| {
        world.record(format!("receiver {receiver} {id} {count} {accepted}"));
        lock(&world.message_log.0).push(ReceivedMessage { receiver, id: id.clone(), body: body.clone(), accepted });
    };
    let answer = |status: u16| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = status.try_into().unwrap();
        response
    };
    let is_flaky = mode(&world, receiver) == ReceiverMode::Flaky && count < MAX_REFUSALS;
    match rng.random_range(0..8) {
        0 if is_flaky => Ok(answer(500)),
        1 if is_flaky => Ok(answer(503)),
        2 if is_flaky => Err(io::ErrorKind::ConnectionReset.into()),
        3 if is_flaky => {
            // The message is received, but the sender gets no response.
            record(false);
            Err(io::ErrorKind::ConnectionReset.into())
        }
        4 if is_flaky => never().await,
        5 if is_flaky => {
            tokio::time::sleep(Duration::from_secs(3)).await;
            record(true);
            Ok(answer(200))
        }
        _ => {
            tokio::time::sleep(Duration::from_millis(rng.random_range(1..60))).await;
            record(true);
            Ok(answer(200))
        }
    }
}

async fn never() -> Result<Response<Full<Bytes>>, io::Error> {
    match std::future::pending::<Infallible>().await {}
}
