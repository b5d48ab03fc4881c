//! A server with a file, for downloads that are cut, resumed or refused. It writes to the connection itself: what it sends before
//! it closes it arrives.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serving {
    Whole,
    /// Each response is cut after a third of the file; the rest can be asked for.
    Cut,
    /// The same, and only the whole file can be asked for.
    CutWithoutRanges,
    /// Sends a third of the file, and then nothing.
    Stalled,
    Missing,
}

struct Served {
    file: Vec<u8>,
    serving: Mutex<Serving>,
    /// The first byte that each request asked for.
    positions: Mutex<Vec<usize>>,
}

pub(super) struct Host {
    address: SocketAddr,
    served: Arc<Served>,
    task: JoinHandle<()>,
}

impl Host {
    pub(super) async fn start(file: Vec<u8>, serving: Serving) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = Arc::new(Served { file, serving: Mutex::new(serving), positions: Mutex::default() });
        let state = Arc::clone(&served);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = Arc::clone(&state);
                // A client that is killed closes the connection.
                tokio::spawn(async move { served.answer(stream).await.ok() });
            }
        });
        Self { address, served, task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/chain.tar", self.address)
    }

    pub(super) fn set(&self, serving: Serving) {
        *self.served.serving.lock().unwrap() = serving;
    }

    pub(super) fn positions(&self) -> Vec<usize> {
        self.served.positions.lock().unwrap().clone()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Served {
    /// One request for each connection.
    async fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut asked = None;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(range) = line.strip_prefix("range: bytes=") {
                asked = Some(range.trim_end_matches('-').parse::<usize>().unwrap());
            }
        }
        let serving = *self.serving.lock().unwrap();
        self.positions.lock().unwrap().push(asked.unwrap_or(0));
        if serving == Serving::Missing {
            return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
        }
        let from = asked.filter(|_| serving != Serving::CutWithoutRanges);
        let (total, rest) = (self.file.len(), &self.file[from.unwrap_or(0)..]);
        let status = match from {
            Some(from) => format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{total}", total - 1),
            None => "200 OK".to_owned(),
        };
        let head =
            format!("HTTP/1.1 {status}\r\nETag: \"a\"\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", rest.len());
        stream.write_all(head.as_bytes()).await?;
        let part = if serving == Serving::Whole { rest.len() } else { rest.len().min(total / 3 + 1) };
        stream.write_all(&rest[..part]).await?;
        stream.flush().await?;
        if serving == Serving::Stalled {
            std::future::pending::<()>().await;
        }
        stream.shutdown().await
    }
}
