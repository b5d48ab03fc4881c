//! A load of requests over connections that stay open, with as little work for each as can be: the machine is shared
//! with whom it asks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

pub(super) const CONNECTIONS: u32 = 16;
const HEAD_END: &[u8] = b"\r\n\r\n";

#[derive(Debug, Clone, Copy)]
pub(super) enum Load {
    /// Every connection asks again as soon as it has its answer.
    Full,
    /// So many requests a second over all connections, whether or not earlier ones are answered.
    PerSecond(f64),
}

pub(super) struct Measured {
    pub(super) took: Duration,
    /// Sorted.
    pub(super) latencies: Vec<Duration>,
}

impl Measured {
    pub(super) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }
}

/// The requests of a load, as they go over the wire. Connections begin at different ones and go round.
pub(super) type Requests = Arc<[Vec<u8>]>;

pub(super) async fn run(url: &str, requests: &Requests, load: Load, lasting: Duration) -> anyhow::Result<Measured> {
    let mut asking = JoinSet::new();
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(url).await?);
    }
    let begun = Instant::now();
    for (place, connection) in (0_u32..).zip(connections) {
        let first = requests.len() * place as usize / CONNECTIONS as usize;
        let requests = Arc::clone(requests);
        asking.spawn(async move {
            let requests = requests.iter().cycle().skip(first).map(Vec::as_slice);
            match load {
                Load::Full => connection.ask_on_and_on(requests, begun + lasting).await,
                Load::PerSecond(rate) => {
                    let every = Duration::from_secs_f64(f64::from(CONNECTIONS) / rate.max(1.0));
                    let first = begun + every * place / CONNECTIONS;
                    connection.ask_in_time(requests, first, every, begun + lasting).await
                }
            }
        });
    }
    let mut latencies = Vec::new();
    while let Some(asked) = asking.join_next().await {
        latencies.extend(asked??);
    }
    let took = begun.elapsed();
    latencies.sort_unstable();
    Ok(Measured { took, latencies })
}

/// The body of one answer.
pub(super) async fn answer(url: &str, request: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut connection = Connection::open(url).await?;
    let start = connection.ask(request).await?;
    Ok(connection.received.split_off(start))
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    async fn open(url: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(url.strip_prefix("http://").context("not an address of HTTP")?).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(1 << 16) })
    }

    async fn ask_on_and_on(
        mut self,
        requests: impl Iterator<Item = &[u8]>,
        until: Instant,
    ) -> anyhow::Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let mut sent = Instant::now();
        for request in requests {
            if sent >= until {
                break;
            }
            self.ask(request).await?;
            let answered = Instant::now();
            latencies.push(answered - sent);
            sent = answered;
        }
        Ok(latencies)
    }

    async fn ask_in_time(
        mut self,
        requests: impl Iterator<Item = &[u8]>,
        first: Instant,
        every: Duration,
        until: Instant,
    ) -> anyhow::Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let mut due = first;
        for request in requests {
            if due >= until {
                break;
            }
            // A request whose predecessor is late counts from when it was due; the timer's own lateness does not count.
            let mut since = due;
            if Instant::now() < due {
                tokio::time::sleep_until(due.into()).await;
                since = Instant::now();
            }
            self.ask(request).await?;
            latencies.push(since.elapsed());
            due += every;
        }
        Ok(latencies)
    }

    /// Leaves the answer in `received`, and tells where its body begins.
    async fn ask(&mut self, request: &[u8]) -> anyhow::Result<usize> {
        self.stream.write_all(request).await?;
        self.received.clear();
        let mut head = None;
        loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                bail!("the connection was closed before the answer was complete");
            }
            if head.is_none() {
                head = read_head(&self.received)?;
            }
            if let Some((start, length)) = head
                && self.received.len() >= start + length
            {
                return Ok(start);
            }
        }
    }
}

/// Where the body begins and how long it is, once the whole head is there.
fn read_head(received: &[u8]) -> anyhow::Result<Option<(usize, usize)>> {
    let Some(end) = received.windows(HEAD_END.len()).position(|window| window == HEAD_END) else { return Ok(None) };
    let head = std::str::from_utf8(&received[..end])?;
    if !head.starts_with("HTTP/1.1 200 ") {
        bail!("not answered: {}", head.lines().next().unwrap_or_default());
    }
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let length = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.context("an answer that does not tell its length")?.1.trim().parse()?;
    Ok(Some((end + HEAD_END.len(), length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_tells_where_the_body_is() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\netag: x\r\n\r\nhello";
        let (start, length) = read_head(answer).unwrap().unwrap();
        assert_eq!(&answer[start..start + length], b"hello");
        assert!(read_head(&answer[..30]).unwrap().is_none());
    }

    #[test]
    fn what_is_not_an_answer_is_no_measurement() {
        assert!(read_head(b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(read_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
    }
}
