//! The header of a block, which only its own page asks the node for.

use alloy_primitives::B256;
use serde_json::json;

use crate::support::{Draft, ReplayNode, TestExplorer, eventually};

/// The text "made by hand".
const MADE_BY_HAND: &str = "0x6d6164652062792068616e64";

async fn explorer_of(node: &ReplayNode) -> TestExplorer {
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    explorer
}

#[tokio::test]
async fn the_header_of_a_block_has_what_the_node_says_and_extra_data_as_text() {
    let header = json!({
        "baseFeePerGas": "0x7", "extraData": MADE_BY_HAND, "withdrawalsRoot": alloy_trie::EMPTY_ROOT_HASH,
        "blobGasUsed": "0x0", "excessBlobGas": "0x60000", "parentBeaconBlockRoot": B256::repeat_byte(0xbe),
        "requestsHash": B256::repeat_byte(3),
    });
    let old = json!({ "difficulty": "0x20000", "extraData": "0xd883010a04846765746888" });
    let drafts = [header, old].map(|header| Draft { header, ..Draft::default() });
    let node = ReplayNode::start(1, &drafts).await;
    let explorer = explorer_of(&node).await;

    let told = explorer.json("/api/v1/blocks/1/header").await;
    let block = explorer.get("/block/1").await.text;
    assert!(block.contains("href=\"/block/1/header\""), "{block}");
    assert!(!block.contains(told["stateRoot"].as_str().unwrap()), "{block}");
    let by_hash = format!("/block/{}/header", told["hash"].as_str().unwrap());
    for path in ["/block/1/header", &by_hash] {
        let page = explorer.get(path).await.text;
        for name in [
            "stateRoot",
            "transactionsRoot",
            "receiptsRoot",
            "withdrawalsRoot",
            "requestsHash",
            "parentBeaconBlockRoot",
            "mixHash",
        ] {
            assert!(page.contains(told[name].as_str().unwrap()), "{name} in {page}");
        }
        let uncles = node.block(1)["sha3Uncles"].as_str().unwrap().to_owned();
        assert!(page.contains(&uncles) && page.contains("<bdi>made by hand</bdi>"), "{page}");
        assert!(page.contains(MADE_BY_HAND) && page.contains("393,216"), "{page}");
        assert!(page.contains("href=\"/api/v1/blocks/1/header\""), "{page}");
    }

    // Bytes that are no text, and fields that the header of a block of that time does not have.
    let page = explorer.get("/block/2/header").await.text;
    assert!(page.contains("0xd883010a04846765746888") && page.contains("131,072"), "{page}");
    assert_eq!(page.matches("not in this header").count(), 6, "{page}");

    for missing in ["/block/9/header", "/block/x/header"] {
        assert_eq!(explorer.get(missing).await.status, 404, "{missing}");
    }
}

#[tokio::test]
async fn a_block_is_shown_without_the_node_and_only_its_header_is_missing() {
    let node = ReplayNode::start(1, &[Draft::default()]).await;
    let explorer = explorer_of(&node).await;
    let hash = node.block(1)["hash"].as_str().unwrap().to_owned();
    node.fail("eth_getBlockByNumber");
    let block = explorer.get("/block/1").await;
    assert!(block.status == 200 && block.text.contains(&hash), "{}", block.text);
    let page = explorer.get("/block/1/header").await;
    assert!(page.status == 200 && page.text.contains(&hash), "{}", page.text);
    assert!(page.text.contains("The header is not available: there is no answer from the node."), "{}", page.text);
    node.heal("eth_getBlockByNumber");
    let state = node.block(1)["stateRoot"].as_str().unwrap().to_owned();
    eventually("the header", async || explorer.get("/block/1/header").await.text.contains(&state).then_some(())).await;
}
