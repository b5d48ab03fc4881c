//! Nodes and databases of another chain, which are refused while the others are used.

use alloy_primitives::{TxKind, U256};
use devchain::{DevChain, DevChainConfig};

use super::{role, server::Server};
use crate::support::{DevNode, Launch, eventually};

/// More blocks than can be reverted.
const BLOCKS: usize = 600;

async fn other_node() -> DevNode {
    let node = DevNode::with(DevChainConfig { chain_id: 99, ..DevChainConfig::default() }).await;
    for _ in 0..5 {
        node.chain.mine(None);
    }
    node
}

/// Does not wait for the indexer to start over with the chain of the node.
fn without_reset(launch: Launch) -> Launch {
    launch.argument("--on-new-chain", "halt")
}

async fn refused_at_start(launch: Launch, words: &[&str]) {
    let (status, message) = without_reset(launch).fails_to_start().await;
    assert_eq!(status.code(), Some(1), "{message}");
    assert!(words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
}

#[tokio::test]
async fn a_node_of_another_chain_is_not_asked_for_balances() {
    let server = Server::shared();
    let url = server.database().await;
    let (mut node, other) = (DevNode::start().await, other_node().await);
    node.chain.mine(None);
    let indexing = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").start().await;
    node.wait_for(&serving).await;
    refused_at_start(role(&other.url(), &url, "serve"), &["another chain", "chain 99", "--rpc", "--database"]).await;

    // The good node is used.
    let both = without_reset(role(&other.url(), &url, "serve")).argument("--rpc", node.url()).start().await;
    node.wait_for(&both).await;
    let account = |index| format!("/api/v1/addresses/{:#x}", node.account(index));
    let found = both.json(&account(0)).await;
    assert_eq!(found["balanceBlock"], 1, "{found}");
    assert_ne!(found["balance"], "0", "{found}");
    both.wait_for_log("endpoint serves another chain and is not used: point --rpc at a node of the indexed chain")
        .await;

    // A node that is replaced while the explorers run.
    drop(indexing);
    let paths = [account(2), account(3)];
    node.stop_serving().await;
    for _ in 0..3 {
        assert_eq!(serving.get(&paths[0]).await.status, 503);
    }
    node.chain = other.chain.clone();
    node.resume_serving().await;
    for path in &paths {
        assert_eq!(serving.get(path).await.status, 503, "no balance of another chain");
    }
    serving.wait_for_log("endpoint serves another chain and is not used").await;
    assert_eq!(serving.json("/api/v1/blocks").await["total"], 2, "the index is served without the node");
}

#[tokio::test]
async fn a_node_with_the_same_genesis_and_other_blocks_is_refused() {
    let chains = [1_u64, 2].map(|value| {
        let chain = DevChain::new(DevChainConfig::default());
        let to = TxKind::Call(chain.accounts()[1].address());
        chain.send(0, to, U256::from(value), []).unwrap();
        for _ in 0..BLOCKS {
            chain.mine(None);
        }
        chain
    });
    let genesis = |chain: &DevChain| chain.block(0_u64).unwrap().summary().hash;
    assert_eq!(genesis(&chains[0]), genesis(&chains[1]));
    let server = Server::shared();
    let url = server.database().await;
    let [one, other] = chains;
    let (node, other) = (DevNode::serve(one).await, DevNode::serve(other).await);
    let _indexing = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").start().await;
    node.wait_for(&serving).await;
    // Finality may be known only now.
    node.chain.mine(None);
    node.wait_for(&serving).await;
    let client = server.connect(&url).await;
    eventually("a block that cannot be reverted is reported", async || {
        let sql = "select coalesce((select settled from explorer.indexer), 0) > 0";
        client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
    refused_at_start(role(&other.url(), &url, "serve"), &["another chain with the same genesis", "--rpc"]).await;
    let both = without_reset(role(&other.url(), &url, "serve")).argument("--rpc", node.url()).start().await;
    node.wait_for(&both).await;
    let found = both.json(&format!("/api/v1/addresses/{:#x}", node.account(0))).await;
    assert_eq!(found["balanceBlock"], node.chain.head().number, "{found}");
}

#[tokio::test]
async fn a_read_database_of_another_chain_is_not_read() {
    let server = Server::shared();
    let (url, other_url) = (server.database().await, server.database().await);
    let (node, other) = (DevNode::start().await, other_node().await);
    node.chain.mine(None);
    let filling = role(&other.url(), &other_url, "index").spawn();
    let of_other = role(&other.url(), &other_url, "serve").start().await;
    other.wait_for(&of_other).await;
    drop((filling, of_other));
    let _indexing = role(&node.url(), &url, "index").spawn();
    // In any order: whether it is the right one is compared when the chain is known.
    let serving = role(&node.url(), &url, "serve").variable("EXPLORER_READ_DATABASE", &other_url).start().await;
    node.wait_for(&serving).await;
    let failure = eventually("the database is refused", async || {
        let health = serving.json("/health").await;
        let failure = health["readDatabase"]["failure"].as_str().map(str::to_owned);
        failure
            .filter(|failure| health["readDatabase"]["used"] == false && failure.contains("--read-database leads to"))
    })
    .await;
    for words in ["chain 99", "leave it out"] {
        assert!(failure.contains(words), "{failure}");
    }
    serving.wait_for_log("--read-database connects to the database of another chain and is not used").await;
    for _ in 0..20 {
        let blocks = serving.json("/api/v1/blocks").await;
        assert_eq!(blocks["blocks"][0]["hash"], node.chain.head().hash.to_string(), "{blocks}");
    }
    assert_eq!(serving.get("/health/ready").await.status, 200, "the database itself is read");
}

#[tokio::test]
async fn a_server_of_another_chain_is_not_used_after_a_failover() {
    let (first, second) = (Server::start(), Server::start());
    let (own, foreign) = (first.database().await, second.database().await);
    let name = own.rsplit('/').next().unwrap();
    assert!(foreign.ends_with(name), "both databases have the same name");
    let (node, other) = (DevNode::start().await, other_node().await);
    node.chain.mine(None);
    let filling = role(&other.url(), &foreign, "index").spawn();
    let of_other = role(&other.url(), &foreign, "serve").start().await;
    other.wait_for(&of_other).await;
    drop((filling, of_other));

    let url = format!("postgres://explorer@{},{}/{name}", first.host(), second.host());
    let _indexing = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").start().await;
    node.wait_for(&serving).await;
    first.kill();
    eventually("the other database is refused", async || {
        let answer = serving.get("/health/ready").await;
        let reason = answer.json["waitingFor"].as_str().unwrap_or_default().to_owned();
        (answer.status == 503 && reason.contains("--database leads to chain 99")).then_some(())
    })
    .await;
    serving.wait_for_log("--database connects to the database of another chain and is not used").await;
    for _ in 0..5 {
        assert_eq!(serving.get("/api/v1/blocks").await.status, 503, "no block of another chain");
    }
    first.run_up();
    node.chain.mine(None);
    node.wait_for(&serving).await;
    eventually("all is well again", async || (serving.get("/health/ready").await.status == 200).then_some(())).await;
    let foreign = second.connect(&foreign).await;
    let tip: i64 = foreign.query_one("select tip_number from explorer.chain", &[]).await.unwrap().get(0);
    assert_eq!(tip, 5, "nothing was written there");
}
