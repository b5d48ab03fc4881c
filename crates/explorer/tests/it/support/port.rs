use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

/// A port of this machine that nobody else gets. Connections to it are refused until a server of the test listens there, which
/// may end and start again.
#[derive(Debug)]
pub(crate) struct Port(TcpSocket);

impl Port {
    pub(crate) fn reserve() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        // Servers set it as well, so they may have the port, too.
        socket.set_reuseaddr(true).unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        Self(socket)
    }

    pub(crate) fn number(&self) -> u16 {
        self.address().port()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    pub(crate) fn listen(self) -> TcpListener {
        self.0.listen(1_024).unwrap()
    }
}

#[tokio::test]
async fn a_reserved_port_refuses_connections_until_a_server_has_it() {
    use tokio::net::TcpStream;
    let port = Port::reserve();
    assert!(TcpStream::connect(port.address()).await.is_err());
    for _ in 0..2 {
        let server = TcpListener::bind(port.address()).await.unwrap();
        TcpStream::connect(port.address()).await.unwrap();
        drop(server);
        assert!(TcpStream::connect(port.address()).await.is_err());
    }
    let address = port.address();
    let _listening = port.listen();
    TcpStream::connect(address).await.unwrap();
}
