use std::{net::IpAddr, sync::LazyLock};

use tokio::net::TcpStream;

use crate::limits::{Client, FairSlots, NoSlot, Slot, SlotBounds, TrustedProxies};

/// How many connections may be open at once.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    pub total: usize,
    /// For one IP address, or one /64 of IPv6.
    pub per_client: usize,
    /// Speak for many clients: only the total holds for them, and none of their connections is closed for another's.
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

/// Who holds a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Holder {
    Client(Client),
    /// Each of a proxy's connections counts as a client of its own, so that none is ever the heaviest.
    Proxy(u64),
}

/// A connection that may be open, until this is dropped.
pub(super) struct Open(Slot<Holder>);

impl Open {
    /// Returns once the connection has to make room for another client's.
    pub(super) async fn evicted(&self) {
        self.0.evicted().await;
    }
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        let bounds = SlotBounds { total: limits.total.max(1), per_client: limits.per_client.max(1) };
        Self { slots: FairSlots::new(bounds), proxies: limits.proxies }
    }

    /// `number` tells connections apart.
    pub(super) fn admit(&self, peer: IpAddr, number: u64) -> Result<Open, NoSlot> {
        let holder = if self.proxies.trusts(peer) { Holder::Proxy(number) } else { Holder::Client(Client::of(peer)) };
        self.slots.take(holder).map(Open)
    }
}

static CLIENT_FULL: LazyLock<String> = LazyLock::new(|| {
    answer("429 Too Many Requests", 429, "too_many_connections", "too many connections are open from this address")
});
static FULL: LazyLock<String> = LazyLock::new(|| {
    answer("503 Service Unavailable", 503, "too_many_connections", "too many connections are open; try again shortly")
});

/// Tells a client why its connection is closed, as far as that can be done without waiting.
pub(super) fn refuse(stream: &TcpStream, why: NoSlot) {
    let answer = match why {
        NoSlot::ClientFull => &CLIENT_FULL,
        NoSlot::Full => &FULL,
    };
    // A client that does not take it finds the connection closed, which says enough.
    let _ = stream.try_write(answer.as_bytes());
}

fn answer(status_line: &str, status: u16, code: &str, detail: &str) -> String {
    let title = status_line.split_once(' ').map_or("", |(_, title)| title);
    let body =
        format!(r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}","code":"{code}"}}"#);
    let length = body.len();
    format!(
        "HTTP/1.1 {status_line}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n\
         retry-after: 5\r\nconnection: close\r\n\r\n{body}"
    )
}
