//! The block that a response stands for, and requests for at least some block.

use std::time::{Duration, Instant};

use crate::support::{DevNode, TestExplorer, client::Answer, permits};

async fn get(explorer: &TestExplorer, path: &str, min_block: &str) -> Answer {
    let client = explorer.client();
    client.send(client.request("GET", path).header("X-Explorer-Min-Block", min_block)).await
}

#[tokio::test]
async fn responses_name_their_block_and_wait_for_a_requested_one() {
    permits::timely().await;
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    let tip = node.chain.head().number;
    let unknown = format!("/api/v1/transactions/0x{}", "7".repeat(64));
    for (path, status) in [("/api/v1/blocks", 200), ("/api/v1/stats", 200), (unknown.as_str(), 404)] {
        // From the index, and from the cache.
        for _ in 0..2 {
            let answer = explorer.get(path).await;
            assert_eq!(
                (answer.status, answer.header("x-explorer-block")),
                (status, tip.to_string().as_str()),
                "{path}"
            );
        }
        let answer = get(&explorer, path, &tip.to_string()).await;
        assert_eq!(answer.status, status, "{path}");
    }
    assert_eq!(explorer.get("/api/v1/openapi.json").await.header("x-explorer-block"), "");

    let started = Instant::now();
    let answer = get(&explorer, "/api/v1/blocks", &(tip + 1).to_string()).await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &"block_not_reached".into()), "{}", answer.json);
    assert_eq!(answer.header("retry-after"), "1");
    assert!(started.elapsed() >= Duration::from_secs(1));

    // On a busy machine, a block may take longer than the second that a request waits: then for another one.
    let mut waited = None;
    for _ in 0..10 {
        let next = node.chain.head().number + 1;
        let min_block = next.to_string();
        let (answer, ()) = tokio::join!(get(&explorer, "/api/v1/blocks", &min_block), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            node.chain.mine(None);
        });
        if answer.status == 200 {
            waited = Some((next, answer));
            break;
        }
        assert_eq!(answer.status, 503, "{}", answer.json);
        node.wait_for(&explorer).await;
    }
    let (next, answer) = waited.expect("no request got the block that it waited for");
    assert_eq!(answer.json["blocks"][0]["number"], next);

    for invalid in ["-1", "0x10", "latest", ""] {
        let answer = get(&explorer, "/api/v1/blocks", invalid).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &"X-Explorer-Min-Block".into()), "{invalid:?}");
    }
    assert_eq!(get(&explorer, "/health", "latest").await.status, 200, "only for the index");
}
