use std::{fmt, future::Future, io, net::SocketAddr, pin::Pin};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

/// A bidirectional byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// The future of a connection attempt.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send + 'a>>;

/// Opens connections; simulations provide their own. Receives only addresses that were checked.
pub trait Network: fmt::Debug + Send + Sync {
    fn connect(&self, address: SocketAddr) -> Connecting<'_>;
}

/// The machine's own network.
#[derive(Debug)]
pub(super) struct Tcp;

impl Network for Tcp {
    fn connect(&self, address: SocketAddr) -> Connecting<'_> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            // A message is sent in one write: Nagle's algorithm would only delay it.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}
