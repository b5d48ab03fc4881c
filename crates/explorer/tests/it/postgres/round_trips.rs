//! How many statements the database runs for a request: none is added unseen.

use std::path::PathBuf;

use serde_json::Value;

use super::{on_database, role, server::Server};
use crate::support::{
    DevNode, Launch, eventually,
    key_request::{KeyRequest, post},
};

const REQUESTS: usize = 10;
/// What a process asks by itself from time to time, by the beginnings of its statements.
const OWN: [&str; 4] = [
    ": select number from state_version",
    ": select c.tip_number, c.tip_hash, b.timestamp, i.phase",
    ": select version, last_webhook",
    ": delete from recalled_lease",
];

/// The log of a server, for a database whose statements it logs.
struct Statements(PathBuf);

impl Statements {
    async fn logged(server: &Server, url: &str) -> Self {
        let name = url.rsplit('/').next().unwrap();
        let sql = ["log_min_messages = 'log'", "log_statement = 'all'"];
        let sql = sql.map(|setting| format!("alter database {name} set {setting}")).join("; ");
        server.connect(url).await.batch_execute(&sql).await.unwrap();
        Self(server.folder().join("log"))
    }

    /// Those of requests.
    fn count(&self) -> usize {
        let is_counted = |line: &&str| {
            let is_statement = line.contains("LOG:  execute ") || line.contains("LOG:  statement: ");
            is_statement && !OWN.iter().any(|own| line.contains(own))
        };
        self.log().lines().filter(is_counted).count()
    }

    /// Those that count requests.
    fn of_limits(&self) -> usize {
        self.log().matches("from take_requests($1").count()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer}: {value}"))
}

#[tokio::test]
async fn a_request_needs_no_more_statements_than_it_is_known_to_need() {
    let server = Server::start();
    let url = server.database().await;
    let (node, _) = DevNode::with_traffic(600).await;
    let indexing = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&indexing).await;
    eventually("traced blocks", async || {
        let address = "/api/v1/internal-transactions?limit=1";
        (indexing.json(address).await["total"].as_u64() > Some(0)).then_some(())
    })
    .await;
    indexing.kill();

    let statements = Statements::logged(&server, &url).await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("explorer.toml");
    std::fs::write(&config, "response-cache = 0\n").unwrap();
    let serving = role(&node.url(), &url, "serve").argument("--config", config.to_str().unwrap()).start().await;
    let client = serving.client().with_keep_alive();
    let get = async |path: &str| {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json
    };

    let transactions = get("/api/v1/transactions?limit=5").await;
    let (hash, from) =
        (text(&transactions, "/transactions/0/hash"), text(&transactions, "/transactions/0/fromAddress"));
    let tokens = get("/api/v1/tokens?limit=1").await;
    let token = text(&tokens, "/tokens/0/address");
    let logs = get("/api/v1/logs?limit=1").await;
    let (emitter, topic) = (text(&logs, "/logs/0/address"), text(&logs, "/logs/0/topics/0"));
    let known = [
        ("/api/v1/stats".to_owned(), 1),
        ("/api/v1/blocks".to_owned(), 1),
        ("/api/v1/blocks/5".to_owned(), 1),
        ("/api/v1/transactions".to_owned(), 1),
        (format!("/api/v1/transactions?address={from}"), 1),
        (format!("/api/v1/transactions/{hash}"), 2),
        (format!("/api/v1/addresses/{from}"), 12),
        (format!("/api/v1/addresses/{from}/tokens"), 1),
        (format!("/api/v1/addresses/{from}/nfts"), 1),
        (format!("/api/v1/addresses/{from}/approvals"), 2),
        ("/api/v1/tokens".to_owned(), 1),
        (format!("/api/v1/tokens/{token}"), 1),
        (format!("/api/v1/tokens/{token}/holders"), 1),
        ("/api/v1/logs".to_owned(), 1),
        (format!("/api/v1/logs?address={emitter}"), 1),
        (format!("/api/v1/logs?topic0={topic}"), 1),
        (format!("/api/v1/logs?address={emitter}&topic0={topic}"), 1),
        ("/api/v1/internal-transactions".to_owned(), 5),
        (format!("/api/v1/internal-transactions?address={from}"), 6),
    ];
    let mut more = Vec::new();
    for (path, expected) in known {
        // Statements are prepared the first time.
        get(&path).await;
        let before = statements.count();
        for _ in 0..REQUESTS {
            get(&path).await;
        }
        let needed = statements.count() - before;
        assert!(needed >= REQUESTS, "{path}: the log has {needed} statements");
        if needed > expected * REQUESTS {
            more.push(format!("{path}: {needed} in {REQUESTS} requests, {expected} in one"));
        }
    }
    assert!(more.is_empty(), "{more:#?}");

    // A busy client is not counted in the database each time.
    let node_key = post(serving.client(), &KeyRequest::by(&node.chain.accounts()[0]).body()).await;
    let key = text(&node_key.json, "/key").to_owned();
    let before = statements.of_limits();
    for left in (0..100).rev() {
        let request = client.request("GET", "/api/v1/stats").header("X-API-Key", &key);
        let answer = client.send(request).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, left.to_string().as_str()));
    }
    let needed = statements.of_limits() - before;
    assert!(needed > 1 && needed < 30, "{needed} statements for 100 requests");
}
