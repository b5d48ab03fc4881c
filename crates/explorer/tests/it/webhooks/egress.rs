//! No request reaches a private address: not by any spelling of it, and not by DNS rebinding.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::json;
use tokio::net::{TcpListener, UdpSocket};

use super::{Hook, register, send};
use crate::support::{DevNode, Launch, TestExplorer, eventually};

/// Listens on every address of this machine and counts connections.
struct Canary {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Canary {
    async fn start() -> Self {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).await.unwrap();
        let (port, connections) = (listener.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
        let seen = Arc::clone(&connections);
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A DNS server that returns the next address of its list for each query, and repeats the last.
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    queries: Arc<AtomicUsize>,
}

impl NameServer {
    pub(crate) async fn start(answers: &[Ipv4Addr]) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let (mut answers, queries) = (answers.to_vec(), Arc::<AtomicUsize>::default());
        let count = Arc::clone(&queries);
        tokio::spawn(async move {
            let mut packet = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut packet).await {
                let reply = answer(&packet[..length], || {
                    count.fetch_add(1, Ordering::SeqCst);
                    if answers.len() > 1 { answers.remove(0) } else { answers[0] }
                });
                socket.send_to(&reply, from).await.unwrap();
            }
        });
        Self { address, queries }
    }
}

/// The response to a query: an address with a TTL of 0, or nothing unless the query is for IPv4.
fn answer(question: &[u8], address: impl FnOnce() -> Ipv4Addr) -> Vec<u8> {
    let mut end = 12;
    while question[end] != 0 {
        end += usize::from(question[end]) + 1;
    }
    let kind = u16::from_be_bytes([question[end + 1], question[end + 2]]);
    let mut reply = question[..end + 5].to_vec();
    reply[2] = 0x81;
    reply[3] = 0x80;
    reply[6..12].copy_from_slice(&[0, u8::from(kind == 1), 0, 0, 0, 0]);
    if kind == 1 {
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        reply.extend(address().octets());
    }
    reply
}

fn strict(node: &DevNode, names: &NameServer) -> Launch {
    let launch = Launch::run(&node.url()).argument("--owner-access", "open").argument("--webhook-dns", names.address);
    // Proxies of the environment must be ignored.
    let proxy = "http://127.0.0.1:9";
    launch.variable("HTTPS_PROXY", proxy).variable("https_proxy", proxy).variable("ALL_PROXY", proxy)
}

/// The reason of an attempt, whether the name is unknown or has an address that is not public.
pub(crate) const NOT_USED: &str = "the host cannot be resolved, or has an address that is not public";

/// Why the first attempt of the newest message failed.
pub(crate) async fn first_error(explorer: &TestExplorer, hook: &Hook) -> String {
    eventually("a failed attempt", async || {
        hook.deliveries(explorer).await[0]["attempts"][0]["error"].as_str().map(str::to_owned)
    })
    .await
}

async fn try_to_register(explorer: &TestExplorer, number: usize, url: &str) -> u16 {
    // One owner each, so that no limit of webhooks applies.
    let body = json!({ "ownerAddress": format!("0x{number:040x}"), "url": url });
    send(explorer.client(), "POST", "/api/v1/webhooks", Some(body)).await.status
}

/// More than 150 spellings of addresses that must not be reached.
fn corpus(port: u16) -> Vec<String> {
    let mut hosts: Vec<String> = [
        // Loopback in every spelling.
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "127.255.255.254",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7f.1",
        "0x7f.0x0.0x0.0x1",
        "0177.0.0.1",
        "0177.0.0.01",
        "00000177.0.0.1",
        "127.0.0.0x1",
        "0X7F.0.0.1",
        "0x7F000001",
        "127.000.000.001",
        "%31%32%37.0.0.1",
        "127%2e0%2e0%2e1",
        "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        "127\u{3002}0\u{3002}0\u{3002}1",
        "127\u{ff0e}0\u{ff0e}0\u{ff0e}1",
        "\u{2460}\u{2461}\u{2466}.0.0.1",
        "0",
        "0.0.0.0",
        "0.0.0.1",
        "0x0",
        "00",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[0000::0001]",
        "[::]",
        "[::127.0.0.1]",
        "[::7f00:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2002:7f00:0001::1]",
        "[2001:0:7f00:1::]",
        "[::FFFF:127.0.0.1]",
        // Private networks.
        "10.0.0.1",
        "10.1",
        "10.255.255.255",
        "0xa.1",
        "012.0.0.1",
        "167772161",
        "0x0a000001",
        "172.16.0.1",
        "172.31.255.255",
        "2886729729",
        "0xac100001",
        "0254.020.0.1",
        "192.168.0.1",
        "192.168.1",
        "3232235521",
        "0xc0a80001",
        "0300.0250.0.1",
        "[::ffff:10.0.0.1]",
        "[::ffff:192.168.0.1]",
        "[::ffff:ac10:1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b::c0a8:1]",
        "[2002:a00:1::]",
        "[2002:c0a8:1::1]",
        "[2002:ac10:1::1]",
        "[fc00::1]",
        "[fd00::1]",
        "[fd12:3456:789a::1]",
        "[fdff:ffff::1]",
        "[2a00::5efe:10.0.0.1]",
        "[2a00::200:5efe:192.168.0.1]",
        "[fe80::5efe:10.0.0.1]",
        // Link-local addresses, including cloud metadata services.
        "169.254.169.254",
        "169.254.169.253",
        "169.254.170.2",
        "169.254.0.1",
        "169.254.255.255",
        "2852039166",
        "0xa9fea9fe",
        "0xa9.0xfe.0xa9.0xfe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "169.16689662",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::169.254.169.254]",
        "[2002:a9fe:a9fe::]",
        "[fe80::1]",
        "[fe80::a9fe:a9fe]",
        "[febf::1]",
        "[fec0::1]",
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
        "168.63.129.16",
        "2822734096",
        "0xa83f8110",
        "[::ffff:168.63.129.16]",
        "100.100.100.200",
        "1684300744",
        "192.0.0.192",
        "3221225664",
        // Carrier-grade NAT, documentation, benchmarking and multicast.
        "100.64.0.1",
        "100.127.255.255",
        "1681915905",
        "[::ffff:100.64.0.1]",
        "[64:ff9b::100.64.0.1]",
        "192.0.0.1",
        "192.0.0.8",
        "192.0.0.170",
        "192.0.2.1",
        "198.51.100.7",
        "203.0.113.9",
        "[2001:db8::1]",
        "[2001:db8:ffff::1]",
        "[3fff::1]",
        "[3fff:fff::1]",
        "198.18.0.1",
        "198.19.255.255",
        "192.88.99.1",
        "224.0.0.1",
        "224.0.0.251",
        "239.255.255.250",
        "240.0.0.1",
        "250.1.2.3",
        "255.255.255.255",
        "4294967295",
        "0xffffffff",
        "[ff02::1]",
        "[ff05::2]",
        "[ff0e::1]",
        "[100::1]",
        "[2001::1]",
        "[2001:10::1]",
        "[2001:20::1]",
        "[2001:2::1]",
        "[5f00::1]",
        "[4000::1]",
        "[::2]",
        "[::ffff:224.0.0.1]",
        "[::ffff:0.0.0.0]",
        "[::ffff:255.255.255.255]",
        "[2002:e000:1::]",
        "[2002:0:0::1]",
    ]
    .iter()
    .map(|host| format!("https://{host}:{port}/"))
    .collect();
    hosts.extend(
        [
            // Not https, or malformed URLs.
            "http://127.0.0.1:{port}/",
            "http://93.184.215.14/",
            "HTTP://localhost:{port}/",
            "ftp://127.0.0.1:{port}/",
            "gopher://127.0.0.1:{port}/_GET",
            "file:///etc/passwd",
            "dict://127.0.0.1:{port}/",
            "ws://127.0.0.1:{port}/",
            "wss://127.0.0.1:{port}/",
            "unix:///run/docker.sock",
            "javascript:alert(1)",
            "data:text/plain,hi",
            "ldap://127.0.0.1:{port}/",
            "jar:https://127.0.0.1:{port}/!/",
            "//127.0.0.1:{port}/",
            "127.0.0.1:{port}",
            "https:/127.0.0.1:{port}/",
            "https:127.0.0.1:{port}/",
            "https:///127.0.0.1:{port}/",
            "https:\\\\127.0.0.1:{port}\\",
            "https://127.0.0.1:{port}\\@93.184.215.14/",
            "https://",
            "https://:{port}/",
            "https://./",
            "https://93.184.215.14:0/",
            "https://[::1",
            "https://[::1%25lo]:{port}/",
            "https://[fe80::1%25eth0]:{port}/",
            // With credentials, some of them misleading.
            "https://user@93.184.215.14/",
            "https://user:pass@93.184.215.14/",
            "https://@127.0.0.1:{port}/",
            "https://93.184.215.14@127.0.0.1:{port}/",
            "https://93.184.215.14:443@127.0.0.1:{port}/",
            "https://127.0.0.1:{port}@93.184.215.14/",
            "https://93.184.215.14%40127.0.0.1:{port}/",
            "https://:@93.184.215.14/",
            "https://93.184.215.14#@127.0.0.1:{port}/\r\n",
            "https://127.0.0.1:{port}#93.184.215.14",
            "https://127.0.0.1:{port}?https://93.184.215.14/",
            "https://127.0.0.1:{port};93.184.215.14/",
            "https://93.184.215.14\t@127.0.0.1:{port}/",
            " https://127.0.0.1:{port}/",
            "https://127.0.0.1:{port}/ x",
            "https://127.0.0.1:{port}/\r\nHost: x",
            "https://127.0.0.1\u{0}.example:{port}/",
            "https://exa mple.com/",
            "https://256.0.0.1:{port}/",
            "https://1.2.3.4.5:{port}/",
            "https://0x100000000:{port}/",
            "https://127.0.0.1:99999/",
            "https://127.0.0.1:{port}:{port}/",
            // Names that can never be public.
            "https://localhost:{port}/",
            "https://LOCALHOST:{port}/",
            "https://localhost.:{port}/",
            "https://a.localhost:{port}/",
            "https://vault:{port}/",
            "https://vault.:{port}/",
            "https://printer.local:{port}/",
            "https://metadata.google.internal:{port}/",
            "https://router.home.arpa:{port}/",
            "https://a.test:{port}/",
            "https://a.invalid:{port}/",
            "https://a.onion:{port}/",
            // Names that no DNS server has.
            "https://*.receiver.example:{port}/",
            "https://receiver..example:{port}/",
        ]
        .iter()
        .map(|url| url.replace("{port}", &port.to_string())),
    );
    hosts
}

#[tokio::test]
async fn no_spelling_of_a_forbidden_address_is_accepted() {
    let (node, canary) = (DevNode::start().await, Canary::start().await);
    let names = NameServer::start(&[Ipv4Addr::LOCALHOST]).await;
    // The canary's port is allowed, so only the address can be rejected.
    let ports = format!("80,443,{}", canary.port);
    let explorer = strict(&node, &names).argument("--webhook-ports", ports).start().await;
    let corpus = corpus(canary.port);
    assert!(corpus.len() >= 200, "{}", corpus.len());
    for (number, url) in corpus.iter().enumerate() {
        assert_eq!(try_to_register(&explorer, number + 1, url).await, 400, "{url:?}");
    }
    assert_eq!(try_to_register(&explorer, 5_001, "https://93.184.215.14/hook?a=b").await, 201);
    assert_eq!(names.queries.load(Ordering::SeqCst), 0, "a registration looks nothing up");

    // Other names are registered, and looked up when a message is sent.
    let mut webhooks = Vec::new();
    for host in ["rebound.example", "127.0.0.1.nip.io", "localhost.rebound.example"] {
        let url = format!("https://{host}:{}/", canary.port);
        let hook = register(&explorer, &url, &format!("0x{:040x}", 6_000 + webhooks.len()), &["tx"]).await;
        hook.ping(&explorer).await;
        webhooks.push(hook);
    }
    for hook in webhooks {
        assert_eq!(first_error(&explorer, &hook).await, NOT_USED);
    }
    assert!(names.queries.load(Ordering::SeqCst) >= 3, "names were looked up");
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn dns_rebinding_reaches_no_private_address() {
    let (node, canary) = (DevNode::start().await, Canary::start().await);
    let public = Ipv4Addr::new(93, 184, 215, 14);
    // Public at first, private later: the change comes at every position of the list.
    for turn in 1..4 {
        let mut answers = vec![public; turn];
        answers.push(Ipv4Addr::LOCALHOST);
        let names = NameServer::start(&answers).await;
        let explorer = strict(&node, &names).argument("--webhook-ports", canary.port).start().await;
        let body = json!({
            "ownerAddress": "0x00000000000000000000000000000000000000aa",
            "url": format!("https://rebound.example:{}/", canary.port),
        });
        let made = send(explorer.client(), "POST", "/api/v1/webhooks", Some(body)).await;
        assert_eq!(made.status, 201, "{}", made.json);
        let path = format!("/api/v1/webhooks/{}", made.json["id"]);
        for _ in 0..6 {
            send(explorer.client(), "POST", &format!("{path}/ping"), None).await;
        }
        let refused = eventually("a refusal", async || {
            let list = explorer.json(&format!("{path}/deliveries")).await;
            let attempts = list["deliveries"].as_array().unwrap().iter().flat_map(|delivery| {
                delivery["attempts"].as_array().unwrap().iter().map(|attempt| attempt["error"].to_string())
            });
            attempts.into_iter().find(|error| error.contains("not public"))
        })
        .await;
        assert!(!refused.contains("127.0.0.1"), "{refused}");
        assert!(names.queries.load(Ordering::SeqCst) > turn, "the name is resolved before each message");
    }
    assert_eq!(canary.connections(), 0);
}
