//! The deployment of docs/deployment.md on loopback: a primary and a standby database, two indexers, two processes that serve
//! behind nginx with the configuration of the repository, and one that delivers.

mod containers;
mod packages;
mod proxy;
mod single;
mod units;

use std::{collections::BTreeSet, path::Path};

use serde_json::json;

use self::proxy::Proxy;
use crate::{
    postgres::{on_database, role, server::Server},
    support::{
        DevNode, Launch, Port, TestExplorer,
        client::Client,
        eventually, expected_state, explorer_command,
        key_request::{KeyRequest, post},
        read_api::read_api_through,
        receiver::Receiver,
    },
    webhooks,
};

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

/// nginx with deploy/nginx-several.conf, in front of other addresses.
async fn proxy(servers: [&TestExplorer; 2]) -> (Client, Proxy) {
    let port = Port::reserve();
    let url = format!("http://{}", port.address());
    let [one, two] = servers.map(|server| server.client().host().to_owned());
    let listen = format!("listen {};", port.address());
    let config = deployed_file("nginx-several.conf");
    let config = replace_all(config, &[("serve-1:3000", &one), ("serve-2:3000", &two), ("listen 80;", &listen)]);
    let config = config.replace("    access_log off;", &format!("    access_log off; {}", proxy::TEMPORARY_FOLDERS));
    (Client::new(url), Proxy::nginx(&config, vec![port]).await)
}

fn deployed_file(name: &str) -> String {
    std::fs::read_to_string(Path::new(DEPLOY).join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Replaces texts, each of which occurs exactly once.
fn replace_all(mut text: String, replacements: &[(&str, &str)]) -> String {
    for (written, here) in replacements {
        assert_eq!(text.matches(written).count(), 1, "{written}");
        text = text.replace(written, here);
    }
    text
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
    let (through, _proxy) = proxy([&one, &two]).await;

    // Everything, through the proxy and both processes behind it.
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api_through(&through, expected.address_names()).await.assert_equals(&expected, "through the proxy");
    let created = post(&through, &KeyRequest::by(&node.chain.accounts()[0]).body()).await;
    assert_eq!(created.status, 201, "{}", created.json);
    let receiver = Receiver::start().await;
    let watched = format!("{:#x}", node.account(1));
    let url_of_hook = receiver.url("/hook");
    let body = json!({ "ownerAddress": watched, "url": url_of_hook, "watchAddress": watched, "eventTypes": ["tx"] });
    let hook = webhooks::send(&through, "POST", "/api/v1/webhooks", Some(body)).await;
    assert_eq!(hook.status, 201, "{}", hook.json);
    let ping = format!("/api/v1/webhooks/{}/ping", hook.json["id"]);
    assert_eq!(webhooks::send(&through, "POST", &ping, None).await.status, 202);
    receiver.wait_for("/hook", 1).await;
    let event = through.first_event("/api/v1/stream").await;
    assert!(event.contains("data:"), "{event}");

    // Behind a proxy, one client is not another.
    let limited = serve().variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 3).start().await;
    let (behind, _proxy_of_limited) = proxy([&limited, &limited]).await;
    for (client, statuses) in [("203.0.113.1", [200, 200, 200, 429]), ("203.0.113.2", [200, 200, 200, 429])] {
        for status in statuses {
            let request = behind.request("GET", "/api/v1/stats").header("X-Forwarded-For", client);
            assert_eq!(behind.send(request).await.status, status, "{client}");
        }
    }

    // A process that serves is lost: nothing fails.
    one.kill();
    for _ in 0..20 {
        assert_eq!(through.get("/api/v1/blocks").await.status, 200);
    }
    // The indexer is lost: the other one goes on.
    indexing.kill();
    for _ in 0..3 {
        traffic.step().unwrap();
        node.chain.mine(None);
    }
    let head = node.chain.head();
    eventually("the second indexer goes on", async || {
        let blocks = through.json("/api/v1/blocks?limit=1").await;
        (blocks["blocks"][0]["hash"] == head.hash.to_string()).then_some(())
    })
    .await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api_through(&through, expected.address_names()).await.assert_equals(&expected, "after the losses");

    // The primary is lost: the index is served from the standby.
    node.stop_serving().await;
    eventually("the standby is read", async || {
        (two.json("/health").await["readDatabase"]["used"] == true).then_some(())
    })
    .await;
    primary.kill();
    let blocks = through.json("/api/v1/blocks?limit=1").await;
    assert_eq!(blocks["blocks"][0]["hash"], head.hash.to_string());
}

#[tokio::test]
async fn the_proxy_asks_another_process_when_one_cannot_answer() {
    let (cut_off, well) = (Server::start(), Server::start());
    let (cut_url, url) = (cut_off.database().await, well.database().await);
    let node = DevNode::start().await;
    node.chain.mine(None);
    let all_roles = |url: &str| on_database(Launch::run(&node.url()), url).argument("--trusted-proxy", "127.0.0.1");
    let (one, two) = (all_roles(&cut_url).start().await, all_roles(&url).start().await);
    for explorer in [&one, &two] {
        node.wait_for(explorer).await;
    }
    let (through, _proxy) = proxy([&one, &two]).await;
    cut_off.kill();
    eventually("one of them is not ready", async || (one.get("/health/ready").await.status == 503).then_some(())).await;
    for _ in 0..10 {
        assert_eq!(through.get("/api/v1/blocks").await.status, 200);
    }
    // A block that nobody has takes no process out of use, however often it is asked for.
    for _ in 0..3 {
        let request = through.request("GET", "/api/v1/blocks").header("X-Explorer-Min-Block", 1_000);
        assert_eq!(through.send(request).await.status, 503);
    }
    assert_eq!(through.get("/api/v1/blocks").await.status, 200);
}

#[test]
fn the_files_of_the_deployment_use_existing_options() {
    let help = explorer_command().args(["run", "--help"]).output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let known: BTreeSet<&str> = words(&help).collect();
    let mut files =
        ["compose.yaml", "compose-several.yaml", "Dockerfile", "nginx-site.conf", "Caddyfile", "explorer.toml"]
            .map(str::to_owned)
            .to_vec();
    for entry in std::fs::read_dir(Path::new(DEPLOY).join("systemd")).unwrap() {
        files.push(format!("systemd/{}", entry.unwrap().file_name().to_str().unwrap()));
    }
    assert!(files.len() >= 13, "{files:?}");
    let mut options = 0;
    for file in files {
        let text = deployed_file(&file);
        let of_other_programs = ["--file", "--detach", "--tag", "--mount", "--webroot", "--webroot-path", "--now"];
        // Commands of other programs are in lines of their own.
        let of_the_explorer = text.lines().filter(|line| {
            ["RUN", "HEALTHCHECK", "COPY", "cargo", "pg_isready"].iter().all(|word| !line.contains(word))
        });
        for word in of_the_explorer.flat_map(words) {
            if word.starts_with("EXPLORER_") || (word.starts_with("--") && !of_other_programs.contains(&word)) {
                assert!(known.contains(word), "{file}: {word} is no option of `explorer run`");
                options += 1;
            }
        }
    }
    for entry in std::fs::read_dir(Path::new(DEPLOY).join("../docs/deployment")).unwrap() {
        let page = entry.unwrap().path();
        let text = std::fs::read_to_string(&page).unwrap();
        let commands = text.lines().filter(|line| line.contains("explorer run ")).flat_map(words);
        let options_of_commands = commands.filter(|word| word.starts_with("--"));
        for word in options_of_commands.chain(words(&text).filter(|word| word.starts_with("EXPLORER_"))) {
            assert!(known.contains(word), "{}: {word} is no option of `explorer run`", page.display());
            options += 1;
        }
    }
    assert!(options > 60, "{options}");
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-')
}
