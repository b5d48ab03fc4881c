//! Looks up the addresses of a name at a recursive DNS server. It follows no delegations and no aliases: the server does.

pub(crate) mod message;

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use message::{Kind, Query, Reply};
use quick_cache::sync::Cache;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    sync::Semaphore,
    time::{Instant, timeout},
};

const SERVERS: &str = "/etc/resolv.conf";
const HOSTS: &str = "/etc/hosts";
const DNS_PORT: u16 = 53;
/// As the system's resolver does.
const MAX_SERVERS: usize = 3;
/// After this, the query is sent again, to the next server.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);
const ROUNDS: usize = 3;
/// Each needs two sockets. More wait, which counts as a part of their time.
const CONCURRENT_LOOKUPS: usize = 128;
/// The longest reply without EDNS over UDP, and some more for servers that do not care.
const MAX_UDP_BYTES: usize = 4_096;
const MAX_CACHED_TIME: Duration = Duration::from_secs(300);
const CACHED_NAMES: usize = 1_000;
/// Replies with more addresses are not cached.
const MAX_CACHED_ADDRESSES: usize = 64;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error("the name is too long or has an empty label")]
    Name,
    #[error("the name has no address")]
    NoAddress,
    #[error("no DNS server answers")]
    NoAnswer,
}

#[derive(Debug)]
pub(crate) struct Resolver {
    servers: Vec<SocketAddr>,
    hosts: Hosts,
    lookups: Semaphore,
    cache: Cache<String, Cached>,
}

#[derive(Debug, Clone)]
struct Cached {
    addresses: Vec<IpAddr>,
    until: Instant,
}

/// The names that the machine's operator set, in lower case.
type Hosts = HashMap<String, Vec<IpAddr>>;

/// Addresses that may be cached for a time.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    addresses: Vec<IpAddr>,
    cached_for: Duration,
}

impl Resolver {
    /// Asks this server, or those of the system. The names in the file of hosts are known without one.
    pub(crate) fn new(server: Option<SocketAddr>) -> Self {
        let servers = server.map_or_else(system_servers, |server| vec![server]);
        let hosts = std::fs::read_to_string(Path::new(HOSTS)).unwrap_or_default();
        Self::with(servers, parse_hosts(&hosts))
    }

    fn with(servers: Vec<SocketAddr>, hosts: Hosts) -> Self {
        let (lookups, cache) = (Semaphore::new(CONCURRENT_LOOKUPS), Cache::new(CACHED_NAMES));
        Self { servers, hosts, lookups, cache }
    }

    /// The addresses of an absolute name: no search list applies. At least one.
    pub(crate) async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, LookupError> {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if let Some(addresses) = self.hosts.get(&name) {
            return Ok(addresses.clone());
        }
        // RFC 6761: never asked at a server.
        if name == "localhost" || name.ends_with(".localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        if let Some(cached) = self.cache.get(&name).filter(|cached| Instant::now() < cached.until) {
            return Ok(cached.addresses);
        }
        let found = self.ask(&name).await?;
        if found.addresses.is_empty() {
            return Err(LookupError::NoAddress);
        }
        if !found.cached_for.is_zero() && found.addresses.len() <= MAX_CACHED_ADDRESSES {
            let until = Instant::now() + found.cached_for;
            self.cache.insert(name, Cached { addresses: found.addresses.clone(), until });
        }
        Ok(found.addresses)
    }

    async fn ask(&self, name: &str) -> Result<Found, LookupError> {
        let _permit = self.lookups.acquire().await.map_err(|_| LookupError::NoAnswer)?;
        let (v4, v6) = tokio::join!(self.ask_kind(name, Kind::A), self.ask_kind(name, Kind::Aaaa));
        match (v4, v6) {
            (Ok(v4), Ok(v6)) => Ok(Found {
                cached_for: v4.cached_for.min(v6.cached_for),
                addresses: alternate(v4.addresses, v6.addresses),
            }),
            // The other kind may be answered next time.
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(Found { cached_for: Duration::ZERO, ..one }),
            (Err(error), Err(_)) => Err(error),
        }
    }

    async fn ask_kind(&self, name: &str, kind: Kind) -> Result<Found, LookupError> {
        for _ in 0..ROUNDS {
            for server in &self.servers {
                // A new number and a new port, so that nobody who does not see the query can guess them.
                let query = Query::new(rand::random(), name, kind).ok_or(LookupError::Name)?;
                let reply = match timeout(ATTEMPT_TIMEOUT, over_udp(*server, &query)).await {
                    Ok(Ok(Reply::Truncated)) => timeout(ATTEMPT_TIMEOUT, over_tcp(*server, &query)).await,
                    reply => reply,
                };
                match reply {
                    Ok(Ok(Reply::Addresses { addresses, seconds })) => {
                        let cached_for = Duration::from_secs(seconds.into()).min(MAX_CACHED_TIME);
                        return Ok(Found { addresses, cached_for });
                    }
                    Ok(Ok(Reply::Truncated | Reply::Failed)) | Err(_) => {}
                    Ok(Err(error)) => {
                        tracing::debug!(%server, %error, "DNS query failed");
                        // Where nothing listens, the error comes at once.
                        tokio::time::sleep(ATTEMPT_TIMEOUT / 10).await;
                    }
                }
            }
        }
        Err(LookupError::NoAnswer)
    }
}

/// Ignores what is not a reply to the query, which others may have sent.
async fn over_udp(server: SocketAddr, query: &Query) -> io::Result<Reply> {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    // Only packets of this server are received.
    socket.connect(server).await?;
    socket.send(query.as_bytes()).await?;
    let mut buffer = vec![0; MAX_UDP_BYTES];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if let Some(reply) = buffer.get(..length).and_then(|message| query.read_reply(message)) {
            return Ok(reply);
        }
    }
}

async fn over_tcp(server: SocketAddr, query: &Query) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(query.as_bytes().len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), query.as_bytes()].concat()).await?;
    let mut message = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut message).await?;
    Ok(query.read_reply(&message).unwrap_or(Reply::Failed))
}

/// In turns, so that both kinds are among the first few.
fn alternate(v4: Vec<IpAddr>, v6: Vec<IpAddr>) -> Vec<IpAddr> {
    let (mut v4, mut v6) = (v4.into_iter(), v6.into_iter());
    let pairs = std::iter::from_fn(|| Some([v4.next(), v6.next()]).filter(|pair| pair.iter().any(Option::is_some)));
    pairs.flatten().flatten().collect()
}

fn system_servers() -> Vec<SocketAddr> {
    let file = std::fs::read_to_string(SERVERS).unwrap_or_default();
    let servers = parse_servers(&file);
    if servers.is_empty() {
        tracing::warn!(file = SERVERS, "no system DNS server found; using 127.0.0.1");
        return vec![(Ipv4Addr::LOCALHOST, DNS_PORT).into()];
    }
    servers
}

fn parse_servers(file: &str) -> Vec<SocketAddr> {
    let servers = file.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and(words.next())?;
        // Without the interface of a link-local address.
        let address: IpAddr = address.split('%').next()?.parse().ok()?;
        Some((address, DNS_PORT).into())
    });
    servers.take(MAX_SERVERS).collect()
}

fn parse_hosts(file: &str) -> Hosts {
    let mut hosts = Hosts::new();
    for line in file.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse) else { continue };
        for name in words {
            hosts.entry(name.trim_end_matches('.').to_ascii_lowercase()).or_default().push(address);
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use std::{
        net::Ipv6Addr,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use tokio::net::TcpListener;

    use super::*;

    /// The end of a reply: its header without the number, and its records.
    type Respond = fn(question: &[u8]) -> Vec<u8>;

    /// A server on UDP and TCP.
    async fn serve(udp: Respond, tcp: Respond) -> (SocketAddr, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (socket, queries) = (UdpSocket::bind(address).await.unwrap(), Arc::<AtomicUsize>::default());
        let count = Arc::clone(&queries);
        tokio::spawn(async move {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query).await {
                count.fetch_add(1, Ordering::SeqCst);
                let reply = udp(&query[..length]);
                if !reply.is_empty() {
                    // Neither of these is a reply to the query.
                    let other = [!query[0], query[1]];
                    socket.send_to(&[&other, &reply[2..]].concat(), from).await.unwrap();
                    socket.send_to(&query[..length], from).await.unwrap();
                    socket.send_to(&reply, from).await.unwrap();
                }
            }
        });
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut query = vec![0; stream.read_u16().await.unwrap().into()];
                stream.read_exact(&mut query).await.unwrap();
                let reply = tcp(&query);
                let length = u16::try_from(reply.len()).unwrap().to_be_bytes();
                stream.write_all(&[&length, &reply[..]].concat()).await.unwrap();
            }
        });
        (address, queries)
    }

    fn is_v4(query: &[u8]) -> bool {
        query[query.len() - 4..] == [0, 1, 0, 1]
    }

    /// A reply with flags and records of the queried kind.
    fn reply(query: &[u8], flags: [u8; 2], seconds: u8, data: &[&[u8]]) -> Vec<u8> {
        let kind = query[query.len() - 3];
        let count = u8::try_from(data.len()).unwrap();
        let mut reply = [&query[..2], &flags, &[0, 1, 0, count, 0, 0, 0, 0], &query[12..]].concat();
        for data in data {
            let length = u8::try_from(data.len()).unwrap();
            reply.extend([0xc0, 12, 0, kind, 0, 1, 0, 0, 0, seconds, 0, length]);
            reply.extend(*data);
        }
        reply
    }

    const V6: [u8; 16] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

    fn both_kinds(query: &[u8]) -> Vec<u8> {
        match is_v4(query) {
            true => reply(query, [0x81, 0x80], 60, &[&[1, 2, 3, 4], &[5, 6, 7, 8]]),
            false => reply(query, [0x81, 0x80], 60, &[&V6]),
        }
    }

    fn expected() -> Vec<IpAddr> {
        vec![[1, 2, 3, 4].into(), Ipv6Addr::from(V6).into(), [5, 6, 7, 8].into()]
    }

    fn truncated(query: &[u8]) -> Vec<u8> {
        reply(query, [0x83, 0x80], 60, &[])
    }

    fn refused(query: &[u8]) -> Vec<u8> {
        reply(query, [0x81, 0x85], 60, &[])
    }

    fn silent(_: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    #[tokio::test]
    async fn addresses_of_both_kinds_are_found_in_turns_and_cached_as_long_as_the_server_says() {
        let (server, queries) = serve(both_kinds, refused).await;
        let resolver = Resolver::with(vec![server], Hosts::new());
        for _ in 0..3 {
            assert_eq!(resolver.lookup("Receiver.example.").await.unwrap(), expected());
        }
        assert_eq!(queries.load(Ordering::SeqCst), 2);

        let (server, queries) = serve(|query| reply(query, [0x81, 0x80], 0, &[&[1, 2, 3, 4]]), refused).await;
        let resolver = Resolver::with(vec![server], Hosts::new());
        for _ in 0..3 {
            // The AAAA records are too short, and ignored.
            assert_eq!(resolver.lookup("receiver.example").await.unwrap(), [IpAddr::from([1, 2, 3, 4])]);
        }
        assert_eq!(queries.load(Ordering::SeqCst), 6);
    }

    #[tokio::test]
    async fn a_truncated_reply_is_requested_again_over_tcp() {
        let (server, _) = serve(truncated, both_kinds).await;
        let resolver = Resolver::with(vec![server], Hosts::new());
        assert_eq!(resolver.lookup("receiver.example").await.unwrap(), expected());
    }

    #[tokio::test]
    async fn the_next_server_is_asked_if_one_fails_or_is_silent() {
        let (failing, _) = serve(refused, refused).await;
        let (quiet, _) = serve(silent, refused).await;
        let (server, _) = serve(both_kinds, refused).await;
        let nothing = "127.0.0.1:9".parse().unwrap();
        let resolver = Resolver::with(vec![failing, nothing, quiet, server], Hosts::new());
        assert_eq!(resolver.lookup("receiver.example").await.unwrap(), expected());
    }

    #[tokio::test]
    async fn a_name_without_addresses_is_an_error_at_once() {
        let (server, queries) = serve(|query| reply(query, [0x81, 0x83], 60, &[]), refused).await;
        let resolver = Resolver::with(vec![server], Hosts::new());
        assert!(matches!(resolver.lookup("receiver.invalid").await, Err(LookupError::NoAddress)));
        assert_eq!(queries.load(Ordering::SeqCst), 2);
        for name in ["", ".", "a..b", &"a".repeat(64), &"a.".repeat(128)] {
            assert!(matches!(resolver.lookup(name).await, Err(LookupError::Name)), "{name}");
        }
        assert_eq!(queries.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn names_of_this_machine_are_not_asked_at_a_server() {
        let (server, queries) = serve(both_kinds, refused).await;
        let hosts =
            parse_hosts("10.1.2.3 Inside.example other # comment.example\n# 1.1.1.1 x\n\nnonsense y\n::1 other\n");
        let resolver = Resolver::with(vec![server], hosts);
        let loopback = [IpAddr::from([127, 0, 0, 1]), Ipv6Addr::LOCALHOST.into()];
        assert_eq!(resolver.lookup("localhost").await.unwrap(), loopback);
        assert_eq!(resolver.lookup("a.LOCALHOST.").await.unwrap(), loopback);
        assert_eq!(resolver.lookup("inside.example.").await.unwrap(), [IpAddr::from([10, 1, 2, 3])]);
        assert_eq!(resolver.lookup("other").await.unwrap().len(), 2);
        assert_eq!(queries.load(Ordering::SeqCst), 0);
        assert_eq!(resolver.lookup("comment.example").await.unwrap(), expected());
    }

    #[test]
    fn the_first_three_servers_of_the_system_are_used() {
        let file = "# comment\nnameserver 127.0.0.53\nsearch a.example\noptions edns0\nnameserver fe80::1%eth0\n\
                    nameserver nonsense\nnameserver 2a00::1\nnameserver 9.9.9.9\n";
        let expected = ["127.0.0.53:53", "[fe80::1]:53", "[2a00::1]:53"].map(|server| server.parse().unwrap());
        assert_eq!(parse_servers(file), expected);
        assert_eq!(parse_servers("nameserver\n"), []);
    }
}
