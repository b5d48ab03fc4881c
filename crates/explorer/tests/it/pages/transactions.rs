//! The page of a transaction: messages, many logs, amounts.

use alloy_primitives::{B256, TxKind, U256, hex};

use crate::support::{DevNode, TestExplorer, eventually};

const COIN: u64 = 1_000_000_000_000_000_000;

/// The code of a constructor that emits this many logs, each with the number of those that follow.
fn emitting(logs: u16) -> Vec<u8> {
    let start = [&[0x61][..], &logs.to_be_bytes()].concat();
    [start, hex::decode("5b600190038060005260206000a08060035700").unwrap()].concat()
}

async fn started(node: &DevNode) -> TestExplorer {
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    explorer
}

fn create(node: &DevNode, code: Vec<u8>) -> B256 {
    let hash = node.chain.send(0, TxKind::Create, U256::ZERO, code).unwrap();
    node.chain.mine(None);
    assert!(node.chain.receipt(hash).unwrap().transaction().created.is_some());
    hash
}

#[tokio::test]
async fn text_to_an_account_is_a_message_and_no_call() {
    let node = DevNode::start().await;
    let send = |value: u64, text: &[u8]| {
        let to = TxKind::Call(node.account(1));
        let hash = node.chain.send(0, to, U256::from(value), text.to_vec()).unwrap();
        node.chain.mine(None);
        hash
    };
    let (paid, unpaid) = (send(COIN / 20, b"Thank you for the boats"), send(0, b"Only a word"));
    let explorer = started(&node).await;
    for (hash, told) in [(paid, "0.05 ETH"), (unpaid, "Sent a message to ")] {
        let page = explorer.get(&format!("/tx/{hash}")).await.text;
        let summary = page.split("<p class=\"summary\">").nth(1).unwrap().split("</p>").next().unwrap();
        assert!(summary.contains("Sent ") && summary.contains(told) && summary.contains(" message"), "{summary}");
        assert!(!page.contains("Called") && page.contains("<span class=\"method\">message</span>"), "{page}");
    }
    let list = eventually("the list knows that there is no code", async || {
        let list = explorer.get("/transactions").await.text;
        (list.matches("title=\"message\">message</span>").count() == 2).then_some(list)
    })
    .await;
    assert!(!list.contains("0x5468616e"), "{list}");
}

#[tokio::test]
async fn each_of_600_logs_is_two_clicks_away_and_has_a_link() {
    let node = DevNode::start().await;
    let hash = create(&node, emitting(600));
    let explorer = started(&node).await;
    let page = explorer.get(&format!("/tx/{hash}")).await.text;
    let shown = |page: &str| page.matches("<details class=\"log\"").count();
    assert_eq!((shown(&page), page.matches("<details class=\"log\" id=\"log-1\">").count()), (25, 1), "collapsed");
    assert!(page.contains("Logs 1 to 25 of 600") && !page.contains("not shown"), "{page}");
    let form = format!("action=\"/tx/{hash}#log\"");
    assert!(page.contains(&form) && page.contains("name=\"log\""), "{page}");

    // What the form opens.
    let page = explorer.get(&format!("/tx/{hash}?log=420")).await.text;
    let log = page.split("<details class=\"log\" id=\"log\" open>").nth(1).unwrap().split("</details>").next().unwrap();
    assert!(log.contains(&format!("{:064x}", 600 - 420)), "{log}");
    assert!(log.contains(&format!("/tx/{hash}?log=420#log")) && log.contains("index 419 in the block"), "{log}");
    assert!(page.contains("Logs 401 to 425 of 600") && shown(&page) == 25, "{page}");
    let by_index = explorer.get(&format!("/tx/{hash}?logIndex=419")).await.text;
    assert!(by_index.contains("id=\"log\" open><summary><span class=\"num muted\">420</span>"), "{by_index}");
    let last = explorer.get(&format!("/tx/{hash}?logs=24")).await.text;
    assert!(last.contains("Logs 576 to 600 of 600"), "{last}");
    for missing in ["log=601", "log=x"] {
        let page = explorer.get(&format!("/tx/{hash}?{missing}")).await;
        assert!(page.status == 200 && page.text.contains("There is no such log"), "{missing}: {}", page.text);
    }
}

#[tokio::test]
async fn amounts_are_in_units_that_fit_and_are_told_once() {
    let node = DevNode::start().await;
    let send = |value: u64| {
        let hash = node.chain.send(0, TxKind::Call(node.account(1)), U256::from(value), []).unwrap();
        node.chain.mine(None);
        hash
    };
    let hashes = [send(1), send(658), send(8_463_000_000), send(COIN)];
    let explorer = started(&node).await;
    let list = explorer.get("/transactions").await.text;
    for shown in [">1 wei<", ">658 wei<", ">8.463 Gwei<", ">1 ETH<", "0.000000008463 ETH (8463000000 wei)"] {
        assert!(list.contains(shown), "{shown}: {list}");
    }
    assert!(!list.contains("e-18 ETH"), "{list}");
    let page = explorer.get(&format!("/tx/{}", hashes[3])).await.text;
    let (_, rest) = page.split_once("<p class=\"summary\">").unwrap();
    let (_, facts) = rest.split_once("</p>").unwrap();
    // Once in what moved, with the full amount for a pointer; the sentence before has it, too.
    assert_eq!(facts.matches(">1 ETH<").count(), 1, "{facts}");
    let order = ["Status", "What moved", "<dt>Fee</dt>", "<dt>Hash</dt>"].map(|part| facts.find(part).unwrap());
    assert!(order.is_sorted(), "{order:?}");
    assert!(facts.contains("confirmation"), "{facts}");
}
