//! A load generator over persistent connections that uses little CPU, since it shares the machine with the server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

pub(super) const CONNECTIONS: u32 = 16;
const HEAD_END: &[u8] = b"\r\n\r\n";

#[derive(Debug, Clone, Copy)]
pub(super) enum Load {
    /// Every connection sends the next request as soon as it has the response.
    Full,
    /// Requests per second over all connections, independent of the response times.
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

/// The encoded requests of a load. Connections start at different ones and cycle through them.
pub(super) type Requests = Arc<[Vec<u8>]>;

pub(super) async fn run(url: &str, requests: &Requests, load: Load, duration: Duration) -> anyhow::Result<Measured> {
    run_over(CONNECTIONS, url, requests, load, duration).await
}

pub(super) async fn run_over(
    count: u32,
    url: &str,
    requests: &Requests,
    load: Load,
    duration: Duration,
) -> anyhow::Result<Measured> {
    let mut tasks = JoinSet::new();
    let mut connections = Vec::new();
    for _ in 0..count {
        connections.push(Connection::open(url).await?);
    }
    let started = Instant::now();
    for (index, connection) in (0_u32..).zip(connections) {
        let first = requests.len() * index as usize / count as usize;
        let requests = Arc::clone(requests);
        tasks.spawn(async move {
            let requests = requests.iter().cycle().skip(first).map(Vec::as_slice);
            match load {
                Load::Full => connection.send_continuously(requests, started + duration).await,
                Load::PerSecond(rate) => {
                    let every = Duration::from_secs_f64(f64::from(count) / rate.max(1.0));
                    let first = started + every * index / count;
                    connection.send_at_rate(requests, first, every, started + duration).await
                }
            }
        });
    }
    let mut latencies = Vec::new();
    while let Some(finished) = tasks.join_next().await {
        latencies.extend(finished??);
    }
    let took = started.elapsed();
    latencies.sort_unstable();
    Ok(Measured { took, latencies })
}

/// The body of one response.
pub(super) async fn response(url: &str, request: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut connection = Connection::open(url).await?;
    let start = connection.send(request).await?;
    Ok(connection.received.split_off(start))
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    async fn open(url: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(url.strip_prefix("http://").context("not an HTTP URL")?).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(1 << 16) })
    }

    async fn send_continuously(
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
            self.send(request).await?;
            let received_at = Instant::now();
            latencies.push(received_at - sent);
            sent = received_at;
        }
        Ok(latencies)
    }

    async fn send_at_rate(
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
            // If the previous request is late, latency counts from the due time; a late timer does not count.
            let mut since = due;
            if Instant::now() < due {
                tokio::time::sleep_until(due.into()).await;
                since = Instant::now();
            }
            self.send(request).await?;
            latencies.push(since.elapsed());
            due += every;
        }
        Ok(latencies)
    }

    /// Reads the response into `received` and returns the start of its body.
    async fn send(&mut self, request: &[u8]) -> anyhow::Result<usize> {
        self.stream.write_all(request).await?;
        self.received.clear();
        let mut head = None;
        loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                bail!("the connection was closed before the response was complete");
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

/// The start and the length of the body, once the whole head is received.
fn read_head(received: &[u8]) -> anyhow::Result<Option<(usize, usize)>> {
    let Some(end) = received.windows(HEAD_END.len()).position(|window| window == HEAD_END) else { return Ok(None) };
    let head = std::str::from_utf8(received.get(..end).unwrap_or_default())?;
    if !head.starts_with("HTTP/1.1 200 ") {
        bail!("unexpected status: {}", head.lines().next().unwrap_or_default());
    }
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let length = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.context("a response without content-length")?.1.trim().parse()?;
    Ok(Some((end + HEAD_END.len(), length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_located_by_the_head() {
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\netag: x\r\n\r\nhello";
        let (start, length) = read_head(response).unwrap().unwrap();
        assert_eq!(&response[start..start + length], b"hello");
        assert!(read_head(&response[..30]).unwrap().is_none());
    }

    #[test]
    fn unexpected_responses_are_errors() {
        assert!(read_head(b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(read_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
    }
}
