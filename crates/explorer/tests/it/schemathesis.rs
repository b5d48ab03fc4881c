//! Schemathesis finds no response that contradicts the OpenAPI document.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{
    Launch,
    client::Client,
    permits,
    process::{Process, Signal, output},
    wallet_clients::installed_clients,
};

/// The number of generated requests for each operation, besides the examples of the document.
const CASES_PER_OPERATION: &str = "EXPLORER_CASES_PER_OPERATION";
const DEFAULT_CASES: u64 = 8;

/// A stream never ends; another test covers it.
const EXCLUDED_PATHS: &str = "^/api/v1/stream$";

/// A URL that is too long is rejected as well.
///
/// A schema cannot express whether a host is public, whether a text is source code or a JSON list, or which functions a contract
/// has. Such values may be rejected although they match the schema.
///
/// A block that is not indexed yet gets 503, as documented. So does the list of compilers while npm does not say which there are.
const CONFIGURATION: &str = "\
parameters = { \"header.X-Explorer-Min-Block\" = \"0\" }

[checks.negative_data_rejection]
expected-statuses = [\"400\", \"401\", \"403\", \"404\", \"405\", \"406\", \"409\", \"413\", \"414\", \"415\", \"429\"]

[[operations]]
include-operation-id = [\"create_webhook\", \"change_webhook\", \"verify_contract\", \"call_contract\", \"call_contract_by_query\"]
[operations.checks.positive_data_acceptance]
expected-statuses = [\"2xx\", \"400\", \"403\", \"404\", \"409\"]

[[operations]]
include-operation-id = [\"list_compilers\"]
[operations.checks.not_a_server_error]
expected-statuses = [\"2xx\", \"4xx\", \"503\"]

";

/// A demo with a limit that the test does not reach, so that rate limit headers are sent.
struct Demo {
    process: Process,
    base: String,
    key: String,
}

impl Demo {
    async fn start() -> Self {
        permits::busy().await;
        let no_limit = 1_000_000;
        let launch = Launch::demo(600)
            .argument("--anonymous-requests-per-minute", no_limit)
            .argument("--key-requests-per-minute", no_limit);
        let mut process = launch.spawn();
        let curl = process.printed("curl -H 'X-API-Key: ").await;
        let (key, url) = curl.split_once("' ").unwrap();
        let base = url.strip_suffix("/api/v1/stats").unwrap().to_owned();
        Self { base, key: key.to_owned(), process }
    }

    /// Runs generated requests, checks their responses, and returns how many there were.
    async fn check(&self, known: &str, options: &[&str]) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let cases = std::env::var(CASES_PER_OPERATION).map_or(DEFAULT_CASES, |cases| cases.parse().unwrap());
        let mut command = Command::new(installed_clients().join("python/bin/schemathesis"));
        command.current_dir(folder).env("NO_PROXY", "*").stdin(Stdio::null());
        std::fs::write(folder.join("schemathesis.toml"), format!("{CONFIGURATION}{known}")).unwrap();
        std::fs::write(folder.join("openapi.json"), self.strict_document().await.to_string()).unwrap();
        command.args(["--config-file", "schemathesis.toml"]);
        command.args(["run", "openapi.json", "--url", &self.base, "--checks", "all", "--seed", "1"]);
        command.args(["--exclude-path-regex", EXCLUDED_PATHS]);
        command.args(["--max-examples", &cases.to_string(), "--workers", "1", "--generation-database", "none"]);
        // The defaults of 10 seconds are short for a busy machine.
        command.args(["--request-timeout", "60", "--max-response-time", "60", "--continue-on-failure", "--no-color"]);
        command.args(options);
        let output = output(command).await;
        let (printed, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{printed}{stderr}");
        let (before, _) = printed.rsplit_once(" generated").unwrap_or_else(|| panic!("{printed}{stderr}"));
        before.rsplit(char::is_whitespace).next().unwrap().parse().unwrap()
    }

    /// The document with the statuses for which `default` stands, since a `default` would allow all others as well.
    async fn strict_document(&self) -> Value {
        let mut document = Client::new(&self.base).json("/api/v1/openapi.json").await;
        let components = document["components"]["responses"].clone();
        let operations = document["paths"].as_object_mut().unwrap().values_mut();
        for operation in operations.flat_map(|item| item.as_object_mut().unwrap().values_mut()) {
            let responses = operation["responses"].as_object_mut().unwrap();
            let other = responses.remove("default").unwrap();
            let name = other["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
            let described = components[name]["description"].as_str().unwrap();
            let statuses: Vec<&str> =
                described.split(". ").map(|reason| reason.split_once(" if ").unwrap().0).collect();
            assert!(statuses.contains(&"500") && statuses.iter().all(|status| status.len() == 3), "{described}");
            for status in statuses {
                responses.entry(status.to_owned()).or_insert_with(|| other.clone());
            }
        }
        document
    }

    /// Existing values of the chain, so that not all generated requests get 404.
    async fn known_values(&self) -> String {
        let client = Client::new(&self.base);
        let first = async |list: &str, field: &str| -> String {
            let listed = client.json(&format!("/api/v1/{list}?limit=1")).await;
            listed[list][0][field].as_str().unwrap().to_owned()
        };
        let (sender, hash) = (first("transactions", "fromAddress").await, first("transactions", "hash").await);
        let (token, block) = (first("tokens", "address").await, first("blocks", "hash").await);
        let mut config = String::new();
        for (path, parameter, value) in [
            ("^/api/v1/addresses/", "path.address", &sender),
            ("^/api/v1/blocks/", "path.numberOrHash", &block),
            ("^/api/v1/keys$", "query.owner", &sender),
            ("^/api/v1/tokens/", "path.address", &token),
            ("^/api/v1/transactions$", "query.address", &sender),
            ("^/api/v1/transactions/", "path.hash", &hash),
        ] {
            config += &format!("[[operations]]\ninclude-path-regex = {path:?}\n");
            config += &format!("parameters = {{ {parameter:?} = {value:?} }}\n\n");
        }
        config
    }
}

#[tokio::test]
async fn no_answer_contradicts_the_document() {
    let mut demo = Demo::start().await;
    let header = format!("X-API-Key: {}", demo.key);
    let known = demo.known_values().await;

    let anonymous = demo.check("", &[]).await;
    let with_key = demo.check(&known, &["-H", &header, "--exclude-operation-id", "revoke_key"]).await;
    // Last, because it may revoke the key that it uses.
    let revoking = demo.check("", &["-H", &header, "--include-operation-id", "revoke_key"]).await;
    println!("{anonymous} cases without a key, {with_key} with one, {revoking} of revoking it");
    assert!(anonymous > 500 && with_key > 500 && revoking > 20, "too few were made to tell");

    let health: Value = Client::new(&demo.base).json("/health").await;
    assert_eq!(health["live"], true, "{health}");
    demo.process.stop(Signal::Interrupt).await;
    let log = demo.process.stderr();
    assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
}
