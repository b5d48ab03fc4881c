//! The admin interface of the real binary: its metrics, its socket and its port.

mod audits;
mod commands;
mod contracts;
mod documents;
mod listening;

use devchain::ReorgedTransactions;

use crate::{
    postgres::{self, server::Server},
    support::{
        DevNode, Launch, TestExplorer,
        admin::Metrics,
        eventually,
        fixture::lower_hex,
        receiver::{Behavior, Receiver},
    },
    webhooks::{self, register},
};

async fn metrics(explorer: &TestExplorer) -> Metrics {
    Metrics::of(explorer.data().path()).await
}

fn requests(route: &str, status: u16) -> String {
    format!(r#"explorer_http_requests_total{{route="{route}",status="{status}"}}"#)
}

/// Compares the values with those of the API.
async fn assert_state(explorer: &TestExplorer, metrics: &Metrics) {
    let (stats, health) = (explorer.json("/api/v1/stats").await, explorer.json("/health").await);
    for (sample, expected) in [
        ("explorer_index_tip_block", &health["tip"]["number"]),
        ("explorer_node_head_block", &health["nodeHead"]),
        ("explorer_index_lag_blocks", &health["lag"]),
        ("explorer_index_transactions", &stats["totalTransactions"]),
        ("explorer_index_tokens", &stats["totalTokens"]),
        ("explorer_webhooks", &health["webhooks"]["count"]),
        ("explorer_webhook_pending_messages", &health["webhooks"]["pending"]),
    ] {
        assert_eq!(Some(metrics.get(sample)), expected.as_f64(), "{sample}: {health} {stats}");
    }
}

#[tokio::test]
async fn metrics_have_the_values_of_the_api() {
    let (node, _) = DevNode::with_traffic(80).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let first = metrics(&explorer).await;
    assert_state(&explorer, &first).await;
    let blocks = node.chain.head().number + 1;
    assert_eq!(first.get("explorer_indexed_blocks_total"), blocks as f64);
    assert_eq!(first.get("explorer_indexed_transactions_total"), first.get("explorer_index_transactions"));
    assert_eq!(first.get(r#"explorer_index_phase{phase="following"}"#), 1.0);
    assert_eq!(first.sum(&["explorer_index_phase{"]), 1.0, "one phase at a time");
    assert_eq!(first.get("explorer_reorg_depth_blocks_count"), 0.0);
    assert_eq!(first.get("explorer_index_lag_seconds"), 0.0);
    assert!(first.get("explorer_index_tip_age_seconds") >= 0.0);
    assert!(first.get("explorer_store_commit_duration_seconds_count") >= 1.0);
    assert!(first.get("process_resident_memory_bytes") > 1e6);
    assert_eq!(first.get(r#"explorer_store_info{store="embedded"}"#), 1.0);
    let called = first.sum(&["explorer_node_calls_total{", "eth_getBlockByNumber", r#"outcome="ok""#]);
    assert!(called >= blocks as f64, "{called}");
    let answered = first.sum(&["explorer_node_call_duration_seconds_count{", "eth_getBlockByNumber"]);
    assert!(answered >= 1.0 && answered <= called, "{answered}");
    assert_eq!(first.get(&format!(r#"explorer_node_up{{node="{}"}}"#, node.url())), 1.0);
    assert!(first.sum(&["explorer_memory_budget_bytes{"]) <= f64::from(1_u32 << 30));

    node.chain.reorg(2, 3, ReorgedTransactions::Drop).unwrap();
    node.wait_for(&explorer).await;
    let second = metrics(&explorer).await;
    assert_state(&explorer, &second).await;
    assert_eq!(second.get("explorer_reorg_depth_blocks_count"), 1.0);
    assert_eq!(second.get("explorer_reorg_depth_blocks_sum"), 2.0);
    assert_eq!(second.get(r#"explorer_reorg_depth_blocks_bucket{le="1"}"#), 0.0);
    assert_eq!(second.since(&first, "explorer_indexed_blocks_total"), 3.0);
}

#[tokio::test]
async fn counters_grow_by_what_was_requested() {
    // Without tokens and traces, which are read after their blocks and change what is cached.
    let node = DevNode::start().await;
    for _ in 0..4 {
        node.chain.mine(None);
    }
    let explorer = Launch::run(&node.url())
        .variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 20)
        .variable("EXPLORER_PAGES_PER_MINUTE", 30)
        .argument("--traces", "off")
        .start()
        .await;
    node.wait_for(&explorer).await;
    let before = metrics(&explorer).await;
    for _ in 0..5 {
        assert_eq!(explorer.get("/api/v1/blocks/1").await.status, 200);
    }
    for path in ["/api/v1/blocks/2", "/api/v1/blocks/99999999", "/api/v1/blocks/nonsense", "/api/v1/no/such/path"] {
        explorer.get(path).await;
    }
    for name in ["/health", "/block/1", "/block/2"] {
        assert_eq!(explorer.get(name).await.status, 200, "{name}");
    }
    let refused_page = eventually("a refused page", async || {
        Some(explorer.get("/block/3").await.status).filter(|status| *status == 429)
    });
    refused_page.await;
    let after = metrics(&explorer).await;
    let grown = |sample: &str| after.since(&before, sample);
    assert_eq!(grown(&requests("/api/v1/blocks/{numberOrHash}", 200)), 6.0);
    assert_eq!(grown(&requests("/api/v1/blocks/{numberOrHash}", 404)), 1.0);
    assert_eq!(grown(&requests("/api/v1/blocks/{numberOrHash}", 400)), 1.0);
    assert_eq!(grown(r#"explorer_http_request_duration_seconds_count{route="/api/v1/blocks/{numberOrHash}"}"#), 8.0);
    assert_eq!(grown(&requests("unmatched", 404)), 1.0);
    assert_eq!(grown(&requests("/health", 200)), 1.0);
    assert_eq!(grown(&requests("/block/{id}", 429)), 1.0);
    assert_eq!(grown(r#"explorer_rate_limited_requests_total{limit="pages"}"#), 1.0);
    // The first of five equal requests, the one for another block, and no error.
    assert_eq!(grown(r#"explorer_cache_misses_total{cache="responses"}"#), 2.0);
    assert_eq!(grown(r#"explorer_cache_hits_total{cache="responses"}"#), 4.0);
    assert!(grown("explorer_store_read_duration_seconds_count") >= 3.0);
    assert!(!after.text.contains("nonsense") && !after.text.contains("such/path"), "no path is a label");

    let refused = eventually("a refused request", async || {
        Some(explorer.get("/api/v1/stats").await.status).filter(|status| *status == 429)
    });
    refused.await;
    let last = metrics(&explorer).await;
    assert_eq!(last.since(&after, r#"explorer_rate_limited_requests_total{limit="anonymous"}"#), 1.0);
    assert_eq!(last.since(&after, &requests("/api/v1/stats", 429)), 1.0);
}

#[tokio::test]
async fn attempts_to_deliver_webhooks_are_counted_by_outcome() {
    let node = DevNode::start().await;
    let explorer = webhooks::launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    receiver.set_behavior("/gone", Behavior::Status(410));
    receiver.set_behavior("/busy", Behavior::Status(500));
    let watched = lower_hex(node.account(1));
    for path in ["/ok", "/gone", "/busy"] {
        register(&explorer, &receiver.url(path), &watched, &["tx"]).await.ping(&explorer).await;
    }
    let outcome = |outcome: &str| format!(r#"explorer_webhook_attempts_total{{outcome="{outcome}"}}"#);
    let counted = eventually("three attempts", async || {
        let counted = metrics(&explorer).await;
        (counted.get("explorer_webhook_attempt_duration_seconds_count") >= 3.0).then_some(counted)
    })
    .await;
    assert_eq!(counted.get(&outcome("delivered")), 1.0);
    assert_eq!(counted.get(&outcome("gone")), 1.0);
    assert!(counted.get(&outcome("retried")) >= 1.0);
    assert_eq!(counted.get(&outcome("given_up")), 0.0);
    assert_eq!(counted.get("explorer_webhooks"), 3.0);
    assert!(counted.get("explorer_webhook_pending_messages") >= 1.0);
}

#[tokio::test]
async fn every_role_on_a_database_has_its_metrics() {
    let server = Server::shared();
    let url = server.database().await;
    let (node, _) = DevNode::with_traffic(40).await;
    let folder = tempfile::tempdir().unwrap();
    let socket = |role: &str| folder.path().join(role);
    let launch =
        |role: &str| postgres::role(&node.url(), &url, role).argument("--admin-socket", socket(role).display());
    let _index = launch("index").spawn();
    let _deliver = launch("deliver").spawn();
    let serve = launch("serve").start().await;
    node.wait_for(&serve).await;
    let head = node.chain.head().number as f64;
    let of = async |role: &str| {
        let socket = socket(role);
        eventually("the socket", async || socket.exists().then_some(())).await;
        // Processes that do not index learn of the tip within a second.
        eventually("the tip", async || {
            let metrics = Metrics::at(&socket).await;
            (metrics.find("explorer_index_tip_block") == Some(head)).then_some(metrics)
        })
        .await
    };
    let (index, serve_metrics, deliver) = (of("index").await, of("serve").await, of("deliver").await);
    assert_eq!(index.names(), serve_metrics.names(), "all processes announce the same metrics");
    assert_eq!(index.names(), deliver.names());
    assert_state(&serve, &serve_metrics).await;
    for metrics in [&index, &serve_metrics, &deliver] {
        assert_eq!(metrics.get(r#"explorer_store_info{store="postgres"}"#), 1.0);
        assert_eq!(metrics.sum(&["explorer_role{"]), 1.0);
    }
    assert_eq!(index.get("explorer_indexed_blocks_total"), head + 1.0);
    assert_eq!(serve_metrics.get("explorer_indexed_blocks_total"), 0.0);
    assert!(
        serve_metrics.sum(&["explorer_http_requests_total{"]) > 0.0
            && index.sum(&["explorer_http_requests_total{"]) == 0.0
    );
    assert!(index.sum(&["explorer_node_calls_total{"]) > 0.0 && deliver.sum(&["explorer_node_calls_total{"]) == 0.0);
    assert_eq!(deliver.find(r#"explorer_webhook_attempts_total{outcome="delivered"}"#), Some(0.0));
    assert_eq!(serve_metrics.find(r#"explorer_webhook_attempts_total{outcome="delivered"}"#), None);
}
