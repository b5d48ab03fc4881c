//! Single processes behind nginx and behind Caddy, as docs/deployment/single.md has them: with host names of their own, and below
//! paths of one host name.

use std::{fs, net::IpAddr, path::Path, process::Command};

use reqwest::Certificate;

use super::{
    DEPLOY, deployed_file,
    proxy::{Proxy, TEMPORARY_FOLDERS, caddy_program},
    replace_all,
};
use crate::support::{
    DevNode, Launch, Port, TestExplorer,
    client::{Client, http_client},
    tls::{Identity, identity_of},
};

const REQUESTS_PER_MINUTE: u32 = 4;

fn explorer(node: &DevNode, chain: &str) -> Launch {
    let launch = Launch::run(&node.url()).argument("--trusted-proxy", "127.0.0.1");
    let launch = launch.configured(&format!("[looks]\nchain-name = '{chain}'\n"));
    launch.variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", REQUESTS_PER_MINUTE)
}

async fn started(node: &DevNode, launch: Launch) -> TestExplorer {
    let explorer = launch.start().await;
    node.wait_for(&explorer).await;
    explorer
}

/// Of a client with this address, which does not follow redirects.
fn settings(from: &str) -> reqwest::ClientBuilder {
    let address = from.parse::<IpAddr>().unwrap();
    http_client().local_address(address).redirect(reqwest::redirect::Policy::none())
}

/// What every proxy has to do. `client` makes a client with this address of its own; `base` is the base path.
async fn assert_serves(chain: &str, base: &str, client: impl Fn(&str) -> Client) {
    let one = client("127.0.0.2");
    let page = one.get(&format!("{base}/")).await;
    assert!(page.status == 200 && page.text.contains(chain), "{}", page.text);
    let event = one.first_event(&format!("{base}/api/v1/stream")).await;
    assert!(event.contains("data:"), "{event}");

    // The client that limits count by is the one that the proxy has seen, not one that it claims to be.
    let (two, stats) = (client("127.0.0.3"), format!("{base}/api/v1/stats"));
    for count in 1..=REQUESTS_PER_MINUTE + 1 {
        let claim = format!("203.0.113.{count}");
        let answer = two.send(two.request("GET", &stats).header("X-Forwarded-For", claim)).await;
        assert_eq!(answer.status, if count > REQUESTS_PER_MINUTE { 429 } else { 200 }, "request {count}");
    }
    assert_eq!(client("127.0.0.4").get(&stats).await.status, 200, "another client");

    // The proxy lets every body pass that some route takes: one that is too long is refused by the explorer.
    let three = client("127.0.0.5");
    let request = three.request("POST", &format!("{base}/api/v1/verify")).header("Content-Type", "application/json");
    let answer = three.send(request.body("x".repeat(9 << 20))).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (413, Some("body_too_large")), "{}", answer.text);
}

/// deploy/nginx-site.conf with other names, in front of a server.
struct Site {
    host: &'static str,
    text: String,
    authority: Certificate,
}

impl Site {
    /// The certificate is written to the folder; the ports are those for HTTP and HTTPS.
    fn new(host: &'static str, upstream: &str, server: &TestExplorer, ports: [u16; 2], folder: &Path) -> Self {
        let Identity { certificate, key, authority } = identity_of(host);
        let identity = folder.join(host);
        fs::create_dir(&identity).unwrap();
        fs::write(identity.join("fullchain.pem"), certificate.pem()).unwrap();
        fs::write(identity.join("privkey.pem"), key.serialize_pem()).unwrap();
        let text = deployed_file("nginx-site.conf").replace("explorer.example", host);
        let text = text.replace("upstream explorer", &format!("upstream {upstream}"));
        let text = text.replace("http://explorer;", &format!("http://{upstream};"));
        let text = text.replace(&format!("/etc/letsencrypt/live/{host}"), identity.to_str().unwrap());
        let listen = ports.map(|port| format!("listen 127.0.0.1:{port}"));
        let text = replace_all(
            text,
            &[
                ("server 127.0.0.1:3000;", &format!("server {};", server.client().host())),
                ("listen 80;", &format!("{};", listen[0])),
                ("listen 443 ssl http2;", &format!("{} ssl http2;", listen[1])),
            ],
        );
        Self { host, text, authority: Certificate::from_pem(authority.as_bytes()).unwrap() }
    }

    fn client(&self, from: &str, scheme: &str, port: u16) -> Client {
        let settings = settings(from).add_root_certificate(self.authority.clone());
        let settings = settings.resolve(self.host, ([127, 0, 0, 1], port).into());
        Client::with_settings(format!("{scheme}://{}:{port}", self.host), settings)
    }
}

async fn nginx<'a>(sites: impl IntoIterator<Item = &'a Site>, ports: [Port; 2]) -> Proxy {
    let sites: Vec<&str> = sites.into_iter().map(|site| site.text.as_str()).collect();
    let config = format!("events {{}} http {{ access_log off; {TEMPORARY_FOLDERS}\n{} }}", sites.join("\n"));
    Proxy::nginx(&config, ports.into()).await
}

#[tokio::test]
async fn nginx_serves_two_host_names_with_tls_and_passes_on_who_asks() {
    let ((first, _), (second, _)) = (DevNode::with_traffic(40).await, DevNode::with_traffic(40).await);
    let one = started(&first, explorer(&first, "Chain One").argument("--public-url", "https://one.example")).await;
    let two = started(&second, explorer(&second, "Chain Two").argument("--public-url", "https://two.example")).await;
    let (reserved, folder) = ([Port::reserve(), Port::reserve()], tempfile::tempdir().unwrap());
    let ports = [&reserved[0], &reserved[1]].map(Port::number);
    let sites = [
        Site::new("one.example", "one", &one, ports, folder.path()),
        Site::new("two.example", "two", &two, ports, folder.path()),
    ];
    let _proxy = nginx(&sites, reserved).await;

    for (site, chain, server) in [(&sites[0], "Chain One", &one), (&sites[1], "Chain Two", &two)] {
        let secure = |from: &str| site.client(from, "https", ports[1]);
        assert_serves(chain, "", secure).await;
        let plain = site.client("127.0.0.2", "http", ports[0]).get("/blocks?page=2").await;
        let expected = format!("https://{}/blocks?page=2", site.host);
        assert_eq!((plain.status, plain.header("location")), (301, &*expected));
        // The page of a contract shows commands with the public address.
        let contract = server.json("/api/v1/tokens").await["tokens"][0]["address"].as_str().unwrap().to_owned();
        let page = secure("127.0.0.2").get(&format!("/address/{contract}?tab=contract")).await;
        assert!(page.text.contains(&format!("https://{}", site.host)), "{}", page.text);
    }
}

/// Two chains below `/bsc` and `/op`.
async fn below_paths(node: &DevNode) -> [TestExplorer; 2] {
    let below = |chain, url| started(node, explorer(node, chain).argument("--public-url", url));
    [below("Below bsc", "https://explorer.test/bsc").await, below("Below op", "https://explorer.test/op").await]
}

/// A code block of docs/deployment/single.md.
fn example(language: &str) -> String {
    let page = fs::read_to_string(format!("{DEPLOY}/../docs/deployment/single.md")).unwrap();
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

async fn assert_serves_paths(client: impl Fn(&str) -> Client) {
    for (chain, base) in [("Below bsc", "/bsc"), ("Below op", "/op")] {
        assert_serves(chain, base, &client).await;
        let moved = client("127.0.0.2").get(base).await;
        assert!(moved.status == 308 && moved.header("location").ends_with(&format!("{base}/")), "{moved:?}");
        let page = client("127.0.0.2").get(&format!("{base}/blocks")).await.text;
        assert!(page.contains(&format!("href=\"{base}/blocks\"")) && !page.contains("href=\"/blocks\""), "{page}");
    }
}

#[tokio::test]
async fn nginx_serves_two_chains_below_paths() {
    let node = DevNode::start().await;
    let servers = below_paths(&node).await;
    let (reserved, folder) = ([Port::reserve(), Port::reserve()], tempfile::tempdir().unwrap());
    let ports = [&reserved[0], &reserved[1]].map(Port::number);
    let mut site = Site::new("explorer.test", "unused", &servers[0], ports, folder.path());
    let last = site.text.find("    location / {\n        proxy_pass").unwrap();
    site.text.truncate(last);
    for (name, server) in ["bsc", "op"].iter().zip(&servers) {
        let locations = example("nginx").replace("bsc", name);
        site.text += &locations.replace("127.0.0.1:3001", server.client().host());
    }
    site.text += "}";
    let _proxy = nginx([&site], reserved).await;
    assert_serves_paths(|from| site.client(from, "https", ports[1])).await;
}

/// Caddy with this file, in which a port replaces the host name, for which it would get a certificate. Without its interface
/// for changes.
async fn caddy(config: String, replacements: &[(&str, &str)]) -> (Proxy, impl Fn(&str) -> Client + use<>) {
    let port = Port::reserve();
    let url = format!("http://{}", port.address());
    let config = replace_all(config, &[("explorer.example {", &format!("{url} {{"))]);
    let config = replacements.iter().fold(config, |config, (written, here)| config.replace(written, here));
    let proxy = Proxy::caddy(&format!("{{\n\tadmin off\n}}\n{config}"), port).await;
    let client = move |from: &str| Client::with_settings(url.clone(), settings(from));
    (proxy, client)
}

#[tokio::test]
async fn caddy_passes_on_who_asks() {
    let node = DevNode::start().await;
    let explorer = started(&node, explorer(&node, "Behind Caddy")).await;
    let (_proxy, client) = caddy(deployed_file("Caddyfile"), &[("127.0.0.1:3000", explorer.client().host())]).await;
    assert_serves("Behind Caddy", "", client).await;
}

#[tokio::test]
async fn caddy_serves_two_chains_below_paths() {
    let node = DevNode::start().await;
    let [one, two] = below_paths(&node).await;
    let servers = [("127.0.0.1:3001", one.client().host()), ("127.0.0.1:3002", two.client().host())];
    let (_proxy, client) = caddy(example("caddyfile"), &servers).await;
    assert_serves_paths(client).await;
}

#[tokio::test]
async fn the_example_of_a_configuration_file_is_valid_with_all_that_it_has() {
    let text = deployed_file("explorer.toml");
    let explorer = Launch::run("http://127.0.0.1:1").configured(&text).start().await;
    assert!(explorer.get("/").await.text.contains(" | Explorer</title>"));

    // A comment begins with a space.
    let used = text.lines().map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line));
    let logo = format!("{DEPLOY}/../crates/web/assets/icon.svg");
    let text = replace_all(used.collect::<Vec<_>>().join("\n"), &[("/etc/explorer/logo.svg", &logo)]);
    let explorer = Launch::run("http://127.0.0.1:1").configured(&text).start().await;
    assert!(explorer.get("/").await.text.contains(" | House chain</title>"));
}

#[test]
fn caddyfiles_are_valid_and_formatted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Caddyfile");
    for text in [deployed_file("Caddyfile"), example("caddyfile")] {
        fs::write(&file, &text).unwrap();
        for arguments in [&["validate", "--adapter", "caddyfile", "--config"][..], &["fmt", "--overwrite"]] {
            let mut command = Command::new(caddy_program());
            let output = command.args(arguments).arg(&file).env("HOME", folder.path()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}
