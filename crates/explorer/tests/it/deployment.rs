//! The deployment of docs/deployment.md on loopback: a primary and a standby database, two indexers, two processes that serve
//! behind nginx with the configuration of the repository, and one that delivers.

use std::{path::Path, process::Command};

use serde_json::json;

use crate::{
    postgres::{role, server::Server},
    support::{
        DevNode, TestExplorer,
        client::Client,
        eventually, expected_state,
        key_request::{KeyRequest, post},
        process::Process,
        read_api::read_api_through,
        receiver::Receiver,
    },
    webhooks,
};

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

/// nginx with deploy/nginx.conf, in front of other addresses.
struct Proxy {
    client: Client,
    _process: Process,
    _folder: tempfile::TempDir,
}

impl Proxy {
    async fn start(servers: [&TestExplorer; 2]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut config = std::fs::read_to_string(format!("{DEPLOY}/nginx.conf")).unwrap();
        let [one, two] = servers.map(|server| server.client().host().to_owned());
        for (written, here) in
            [("serve-1:3000", one), ("serve-2:3000", two), ("listen 80;", format!("listen 127.0.0.1:{port};"))]
        {
            assert_eq!(config.matches(written).count(), 1, "{written}");
            config = config.replace(written, &here);
        }
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {};", folder.path().join(kind).display()));
        config = config.replace("    access_log off;", &format!("    access_log off; {}", temporary.join(" ")));
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let pid = folder.path().join("pid");
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-c").arg(&file).arg("-p").arg(folder.path()).args(["-e", "stderr"]);
        command.arg("-g").arg(format!("daemon off; pid {};", pid.display()));
        let process = Process::spawn(&mut command);
        let client = Client::new(format!("http://127.0.0.1:{port}"));
        eventually("the proxy listens", async || std::net::TcpStream::connect(client.host()).is_ok().then_some(()))
            .await;
        Self { client, _process: process, _folder: folder }
    }
}

#[tokio::test]
async fn the_deployment_survives_the_loss_of_a_server_and_of_an_indexer() {
    let primary = Server::start();
    let standby = primary.start_standby();
    let url = primary.database().await;
    let read_url = standby.url(url.rsplit('/').next().unwrap());
    let (mut node, mut traffic) = DevNode::with_traffic(60).await;
    let rpc = node.url();
    let serve = || role(&rpc, &url, "serve").argument("--trusted-proxy", "127.0.0.1");
    let mut indexing = role(&rpc, &url, "index").spawn();
    let one = serve().start().await;
    let two = serve().variable("EXPLORER_READ_DATABASE", &read_url).start().await;
    let _delivering = role(&rpc, &url, "deliver").spawn();
    for explorer in [&one, &two] {
        node.wait_for(explorer).await;
    }
    let _standing_by = role(&rpc, &url, "index").spawn();
    let proxy = Proxy::start([&one, &two]).await;

    // Everything, through the proxy and both processes behind it.
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api_through(&proxy.client, expected.address_names()).await.assert_equals(&expected, "through the proxy");
    let created = post(&proxy.client, &KeyRequest::by(&node.chain.accounts()[0]).body()).await;
    assert_eq!(created.status, 201, "{}", created.json);
    let receiver = Receiver::start().await;
    let watched = format!("{:#x}", node.account(1));
    let url_of_hook = receiver.url("/hook");
    let body = json!({ "ownerAddress": watched, "url": url_of_hook, "watchAddress": watched, "eventTypes": ["tx"] });
    let hook = webhooks::send(&proxy.client, "POST", "/api/v1/webhooks", Some(body)).await;
    assert_eq!(hook.status, 201, "{}", hook.json);
    let ping = format!("/api/v1/webhooks/{}/ping", hook.json["id"]);
    assert_eq!(webhooks::send(&proxy.client, "POST", &ping, None).await.status, 202);
    receiver.wait_for("/hook", 1).await;
    let event = proxy.client.first_event("/api/v1/stream").await;
    assert!(event.contains("data:"), "{event}");

    // Behind a proxy, one client is not another.
    let limited = serve().variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 3).start().await;
    let behind = Proxy::start([&limited, &limited]).await;
    for (client, statuses) in [("203.0.113.1", [200, 200, 200, 429]), ("203.0.113.2", [200, 200, 200, 429])] {
        for status in statuses {
            let request = behind.client.request("GET", "/api/v1/stats").header("X-Forwarded-For", client);
            assert_eq!(behind.client.send(request).await.status, status, "{client}");
        }
    }

    // A process that serves is lost: nothing fails.
    one.kill();
    for _ in 0..20 {
        assert_eq!(proxy.client.get("/api/v1/blocks").await.status, 200);
    }
    // The indexer is lost: the other one goes on.
    indexing.kill();
    for _ in 0..3 {
        traffic.step().unwrap();
        node.chain.mine(None);
    }
    let head = node.chain.head();
    eventually("the second indexer goes on", async || {
        let blocks = proxy.client.json("/api/v1/blocks?limit=1").await;
        (blocks["blocks"][0]["hash"] == head.hash.to_string()).then_some(())
    })
    .await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api_through(&proxy.client, expected.address_names()).await.assert_equals(&expected, "after the losses");

    // The primary is lost: the index is served from the standby.
    node.stop_serving().await;
    eventually("the standby is read", async || {
        (two.json("/health").await["readDatabase"]["used"] == true).then_some(())
    })
    .await;
    primary.kill();
    let blocks = proxy.client.json("/api/v1/blocks?limit=1").await;
    assert_eq!(blocks["blocks"][0]["hash"], head.hash.to_string());
}

#[test]
fn the_files_of_the_deployment_use_existing_options() {
    let help = Command::new(env!("CARGO_BIN_EXE_explorer")).args(["run", "--help"]).output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let mut files = vec!["compose.yaml".to_owned(), "Dockerfile".to_owned()];
    for entry in std::fs::read_dir(Path::new(DEPLOY).join("systemd")).unwrap() {
        files.push(format!("systemd/{}", entry.unwrap().file_name().to_str().unwrap()));
    }
    assert!(files.len() >= 6, "{files:?}");
    let mut options = 0;
    for file in files {
        let text = std::fs::read_to_string(format!("{DEPLOY}/{file}")).unwrap();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-');
        for word in words {
            let is_option = word.starts_with("EXPLORER_")
                || matches!(word, "--role" | "--listen" | "--trusted-proxy" | "--read-database" | "--database");
            if is_option {
                assert!(help.contains(word), "{file}: {word} is no option of `explorer run`");
                options += 1;
            }
        }
    }
    assert!(options > 20, "{options}");
}
