//! One process behind nginx and behind Caddy, as docs/deployment/single.md has it; two of them with host names of their own.

use std::{fs, net::IpAddr, process::Command};

use super::{
    deployed_file,
    proxy::{Proxy, TEMPORARY_FOLDERS, caddy_program, free_port},
    replace_all,
};
use crate::support::{
    DevNode, Launch, TestExplorer,
    client::{Client, http_client},
    tls::{Identity, identity_of},
};

const REQUESTS_PER_MINUTE: u32 = 4;

async fn explorer(node: &DevNode, chain: &str) -> TestExplorer {
    let launch = Launch::run(&node.url()).argument("--trusted-proxy", "127.0.0.1").argument("--chain-name", chain);
    let explorer = launch.variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", REQUESTS_PER_MINUTE).start().await;
    node.wait_for(&explorer).await;
    explorer
}

/// What every proxy has to do. `client` makes a client with this address of its own.
async fn assert_serves(chain: &str, client: impl Fn(&str) -> Client) {
    let one = client("127.0.0.2");
    let page = one.get("/").await;
    assert!(page.status == 200 && page.text.contains(chain), "{}", page.text);
    let event = one.first_event("/api/v1/stream").await;
    assert!(event.contains("data:"), "{event}");

    // The client that limits count by is the one that the proxy has seen, not one that it claims to be.
    let two = client("127.0.0.3");
    for count in 1..=REQUESTS_PER_MINUTE + 1 {
        let claim = format!("203.0.113.{count}");
        let answer = two.send(two.request("GET", "/api/v1/stats").header("X-Forwarded-For", claim)).await;
        assert_eq!(answer.status, if count > REQUESTS_PER_MINUTE { 429 } else { 200 }, "request {count}");
    }
    assert_eq!(client("127.0.0.4").get("/api/v1/stats").await.status, 200, "another client");

    // The proxy lets every body pass that some route takes: one that is too long is refused by the explorer.
    let three = client("127.0.0.5");
    let request = three.request("POST", "/api/v1/verify").header("Content-Type", "application/json");
    let answer = three.send(request.body("x".repeat(9 << 20))).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (413, Some("body_too_large")), "{}", answer.text);
}

/// A file of deploy/nginx-site.conf with this host, upstream and certificate.
fn site(host: &str, upstream: &str, server: &str, [plain, secure]: [u16; 2], identity: &str) -> String {
    let config = deployed_file("nginx-site.conf").replace("explorer.example", host);
    let config = config.replace("upstream explorer", &format!("upstream {upstream}"));
    let config = config.replace("http://explorer;", &format!("http://{upstream};"));
    let certificates = format!("/etc/letsencrypt/live/{host}");
    replace_all(
        config.replace(&certificates, identity),
        &[
            ("server 127.0.0.1:3000;", &format!("server {server};")),
            ("listen 80;", &format!("listen 127.0.0.1:{plain};")),
            ("listen 443 ssl http2;", &format!("listen 127.0.0.1:{secure} ssl http2;")),
        ],
    )
}

#[tokio::test]
async fn nginx_serves_two_chains_with_tls_and_passes_on_who_asks() {
    let ((first, _), (second, _)) = (DevNode::with_traffic(40).await, DevNode::with_traffic(40).await);
    let [one, two] = [explorer(&first, "Chain One").await, explorer(&second, "Chain Two").await];
    let ports = [free_port(), free_port()];
    let folder = tempfile::tempdir().unwrap();
    let mut sites = Vec::new();
    let mut authorities = Vec::new();
    for (host, upstream, server) in [("one.example", "one", &one), ("two.example", "two", &two)] {
        let Identity { certificate, key, authority } = identity_of(host);
        let identity = folder.path().join(host);
        fs::create_dir(&identity).unwrap();
        fs::write(identity.join("fullchain.pem"), certificate.pem()).unwrap();
        fs::write(identity.join("privkey.pem"), key.serialize_pem()).unwrap();
        sites.push(site(host, upstream, server.client().host(), ports, identity.to_str().unwrap()));
        authorities.push(reqwest::Certificate::from_pem(authority.as_bytes()).unwrap());
    }
    let config = format!("events {{}} http {{ access_log off; {TEMPORARY_FOLDERS}\n{} }}", sites.join("\n"));
    let _proxy = Proxy::nginx(&config, ports[1]).await;

    for (host, chain, server) in [("one.example", "Chain One", &one), ("two.example", "Chain Two", &two)] {
        let client = |from: &str, scheme: &str, port: u16| {
            let mut settings = http_client().local_address(from.parse::<IpAddr>().unwrap());
            for authority in &authorities {
                settings = settings.add_root_certificate(authority.clone());
            }
            let settings = settings.resolve(host, ([127, 0, 0, 1], port).into());
            let settings = settings.redirect(reqwest::redirect::Policy::none());
            Client::with_settings(format!("{scheme}://{host}:{port}"), settings)
        };
        assert_serves(chain, |from| client(from, "https", ports[1])).await;
        let plain = client("127.0.0.2", "http", ports[0]).get("/blocks?page=2").await;
        assert_eq!((plain.status, plain.header("location")), (301, &*format!("https://{host}/blocks?page=2")));
        // The page of a contract shows commands with the address under which the browser knows the server.
        let contract = server.json("/api/v1/tokens").await["tokens"][0]["address"].as_str().unwrap().to_owned();
        let page = client("127.0.0.2", "https", ports[1]).get(&format!("/address/{contract}?tab=contract")).await;
        assert!(page.text.contains(&format!("https://{host}")), "{}", page.text);
    }
}

#[tokio::test]
async fn caddy_passes_on_who_asks() {
    let node = DevNode::start().await;
    let explorer = explorer(&node, "Behind Caddy").await;
    let port = free_port();
    // Without the host name, for which Caddy would get a certificate, and without its interface for changes.
    let config = replace_all(
        deployed_file("Caddyfile"),
        &[
            ("explorer.example {", &format!("http://127.0.0.1:{port} {{")),
            ("reverse_proxy 127.0.0.1:3000", &format!("reverse_proxy {}", explorer.client().host())),
        ],
    );
    let _proxy = Proxy::caddy(&format!("{{\n\tadmin off\n}}\n{config}"), port).await;
    assert_serves("Behind Caddy", |from| {
        let settings = http_client().local_address(from.parse::<IpAddr>().unwrap());
        Client::with_settings(format!("http://127.0.0.1:{port}"), settings)
    })
    .await;
}

#[test]
fn the_caddyfile_is_valid_and_formatted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Caddyfile");
    fs::write(&file, deployed_file("Caddyfile")).unwrap();
    for arguments in [&["validate", "--adapter", "caddyfile", "--config"][..], &["fmt", "--overwrite"]] {
        let mut command = Command::new(caddy_program());
        let output = command.args(arguments).arg(&file).env("HOME", folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), deployed_file("Caddyfile"));
}
