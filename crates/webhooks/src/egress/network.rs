use std::{fmt, future::Future, io, net::SocketAddr, pin::Pin};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

/// Bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// What a network does with a wish to connect.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send + 'a>>;

/// What connections are opened on. A simulation has one of its own; it is asked for addresses only that were judged.
pub trait Network: fmt::Debug + Send + Sync {
    fn connect(&self, address: SocketAddr) -> Connecting<'_>;
}

/// The network of this machine.
#[derive(Debug)]
pub(super) struct Tcp;

impl Network for Tcp {
    fn connect(&self, address: SocketAddr) -> Connecting<'_> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            // A message goes out in one write; waiting for more would only delay it.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}
