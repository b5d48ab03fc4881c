//! An explorer below a path of a host name: every link stays below it.

use std::collections::{BTreeSet, VecDeque};

use crate::support::{DevNode, Launch};

const SITE: &str = "https://explorer.example";
const BASE: &str = "/chains/dev";

/// Values of the attributes that lead to another page or file.
fn links(page: &str) -> impl Iterator<Item = &str> {
    [" href=\"", " src=\"", " action=\""]
        .into_iter()
        .flat_map(|start| page.split(start).skip(1))
        .filter_map(|rest| rest.split('"').next())
}

#[tokio::test]
async fn every_link_stays_below_the_base_path() {
    let (node, _) = DevNode::with_traffic(60).await;
    let explorer = Launch::run(&node.url())
        .argument("--public-url", format!("{SITE}{BASE}/"))
        .argument("--anonymous-requests-per-minute", 0)
        .argument("--pages-per-minute", 0)
        .start()
        .await;
    node.wait_for(&explorer).await;
    let mut seen = BTreeSet::from([format!("{BASE}/"), format!("{BASE}/docs")]);
    let mut due: VecDeque<String> = seen.iter().cloned().collect();
    let mut kinds = BTreeSet::new();
    for _ in 0..300 {
        let Some(path) = due.pop_front() else { break };
        let answer = explorer.get(&path.replace("&#38;", "&")).await;
        assert_eq!(answer.status, 200, "{path}");
        kinds.insert(path[BASE.len()..].split(['/', '?']).nth(1).unwrap_or_default().to_owned());
        if !answer.header("content-type").starts_with("text/html") {
            continue;
        }
        assert!(answer.text.contains(&format!("data-base=\"{BASE}\"")), "{path}");
        let inside = links(&answer.text).filter(|link| !link.starts_with('#'));
        // The canonical URL of a page is complete.
        for link in inside.map(|link| link.strip_prefix(SITE).unwrap_or(link)) {
            assert!(link.starts_with(&format!("{BASE}/")), "{path} has a link to {link}");
            let is_new = seen.insert(link.to_owned());
            if is_new && !link.contains("/search") {
                due.push_back(link.to_owned());
            }
        }
    }
    for kind in ["blocks", "block", "tx", "address", "token", "assets", "docs", "contracts"] {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }

    // Redirects stay below it, too; and a proxy may remove it.
    let client = explorer.client();
    for path in [format!("{BASE}/txs"), "/txs".to_owned()] {
        let moved = client.get_without_following(&path).await;
        assert_eq!((moved.status, moved.header("location")), (308, "/chains/dev/transactions"), "{path}");
    }
    let blocks = explorer.json(&format!("{BASE}/api/v1/blocks?limit=3")).await;
    assert_eq!(blocks, explorer.json("/api/v1/blocks?limit=3").await);
    assert_eq!(blocks["limit"], 3);
    assert_eq!(explorer.get(BASE).await.status, 200);
    assert_eq!(explorer.get("/chains/devnet").await.status, 404);
    let keys = explorer.get(&format!("{BASE}/keys")).await.text;
    assert!(keys.contains(&format!("{SITE}{BASE}/api/v1/keys")), "commands have the public address");
}

#[tokio::test]
async fn a_base_path_that_is_none_is_refused() {
    let launch = Launch::run("http://127.0.0.1:1").argument("--public-url", format!("{SITE}/a&b"));
    let (status, message) = launch.fails_to_start().await;
    assert_eq!(status.code(), Some(2), "{message}");
    assert!(message.contains("`/a&b` is not a path such as /explorer"), "{message}");
}
