use std::{net::IpAddr, sync::LazyLock};

use admission::{FairSlots, NoSlot, Slot, SlotBounds};
use client_address::{Client, TrustedProxies};
use tokio::net::TcpStream;

/// The maximum number of open connections.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    pub total: usize,
    /// Per IPv4 address or IPv6 /64.
    pub per_client: usize,
    /// Proxies serve many clients: only the total applies to them, and their connections are never evicted.
    pub proxies: TrustedProxies,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { total: 4_096, per_client: 512, proxies: TrustedProxies::default() }
    }
}

pub(super) struct Connections {
    slots: FairSlots<Holder>,
    proxies: TrustedProxies,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Holder {
    Client(Client),
    /// Each connection of a proxy counts as a separate client, so that it is never the one with the most slots.
    Proxy(u64),
}

/// The slot of an open connection, released when dropped.
pub(super) struct ConnectionSlot(Slot<Holder>);

impl ConnectionSlot {
    /// Completes when the connection must close to make room for another client.
    pub(super) async fn evicted(&self) {
        self.0.evicted().await;
    }
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        let bounds = SlotBounds { total: limits.total.max(1), per_client: limits.per_client.max(1), kept_for: None };
        Self { slots: FairSlots::new(bounds), proxies: limits.proxies }
    }

    /// `number` is unique per connection.
    pub(super) fn take_slot(&self, peer: IpAddr, number: u64) -> Result<ConnectionSlot, NoSlot> {
        let holder = if self.proxies.trusts(peer) { Holder::Proxy(number) } else { Holder::Client(Client::of(peer)) };
        self.slots.take(holder).map(ConnectionSlot)
    }
}

static CLIENT_FULL: LazyLock<String> = LazyLock::new(|| {
    response("429 Too Many Requests", 429, "too_many_connections", "too many connections are open from this address")
});
static FULL: LazyLock<String> = LazyLock::new(|| {
    response("503 Service Unavailable", 503, "too_many_connections", "too many connections are open; try again shortly")
});

/// Sends the reason to the client, if that is possible without waiting.
pub(super) fn reject(stream: &TcpStream, reason: NoSlot) {
    let response = match reason {
        NoSlot::ClientFull => &CLIENT_FULL,
        NoSlot::Full => &FULL,
    };
    // Best effort: the connection is closed in any case.
    let _ = stream.try_write(response.as_bytes());
}

fn response(status_line: &str, status: u16, code: &str, detail: &str) -> String {
    let title = status_line.split_once(' ').map_or("", |(_, title)| title);
    let body =
        format!(r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}","code":"{code}"}}"#);
    let length = body.len();
    format!(
        "HTTP/1.1 {status_line}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n\
         retry-after: 5\r\nconnection: close\r\n\r\n{body}"
    )
}
