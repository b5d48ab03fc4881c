//! Accounts that let the code of others run in their place (EIP-7702), and names of transaction types.

use alloy_primitives::{Address, B256, TxKind, U256};
use devchain::DevChainConfig;
use serde_json::{Value, json};

use super::{ALICE, BOB, on_both_stores, payment};
use crate::{
    postgres::{on_database, server::Server},
    support::{DevNode, Draft, FaultyNode, Launch, ReplayNode, Script, TestExplorer, fixture::lower_hex},
};

#[tokio::test]
async fn an_authorization_has_its_signer_and_the_page_says_what_was_asked_for() {
    let node = DevNode::start().await;
    let (signer, delegate) = (lower_hex(node.account(1)), "0x00000000000000000000000000000000000000d1");
    let authorization = node.chain.authorize(1, delegate.parse().unwrap()).unwrap();
    let draft = node.chain.draft(0).unwrap().to(alloy_primitives::Address::ZERO);
    let hash = draft.tx_type(devchain::TransactionType::SetCode(vec![authorization])).submit().unwrap();
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let tx = explorer.json(&format!("/api/v1/transactions/{hash}")).await;
    let given = &tx["authorizations"][0];
    assert_eq!((&given["signer"], &given["delegate"]), (&json!(signer), &json!(delegate)), "{tx}");
    assert_eq!((&tx["authorizationListLength"], &given["nonce"]), (&json!(1), &json!("0")), "{tx}");
    let page = explorer.get(&format!("/tx/{hash}")).await.text.to_lowercase();
    assert!(page.contains("asked that") && page.contains("delegates to"), "{page}");
    assert!(page.contains(&format!("/address/{signer}")) && page.contains(&format!("/address/{delegate}")), "{page}");
    assert!(!page.contains("sent <span"), "{page}");
    let chain = given["chainId"].as_str().unwrap();
    assert!(page.contains(&format!("<td data-label=\"chain\">{chain}</td>")), "{page}");
}

#[tokio::test]
async fn the_outcome_of_an_authorization_and_the_start_of_a_delegation_are_known_from_states() {
    let node = DevNode::start().await;
    let delegates = [0xd1, 0xd2].map(Address::repeat_byte);
    let authorize = |signer: usize, delegate: Address| node.chain.authorize(signer, delegate).unwrap();
    let send = |sender: usize, list: Vec<_>| {
        let draft = node.chain.draft(sender).unwrap().to(Address::ZERO);
        let hash = draft.tx_type(devchain::TransactionType::SetCode(list)).submit().unwrap();
        node.chain.mine(None);
        (hash, node.chain.head().number)
    };
    let pay = |sender: usize| {
        node.chain.send(sender, TxKind::Call(Address::repeat_byte(7)), U256::ONE, Vec::<u8>::new()).unwrap();
        node.chain.mine(None);
    };
    // Twice the same; of the sender, whose nonce the transaction itself changes; and of an account that has nothing to do with it.
    let first = [authorize(1, delegates[0]), authorize(1, delegates[0]), authorize(0, delegates[0])];
    let (sent, start) = send(0, first.to_vec());
    for _ in 0..3 {
        pay(1);
        pay(0);
    }
    let (again, _) = send(2, vec![authorize(1, delegates[0])]);
    pay(1);
    let (other, changed) = send(2, vec![authorize(3, delegates[0])]);
    let (replaced, second) = send(2, vec![authorize(3, delegates[1])]);
    pay(3);

    let unlimited = |launch: Launch| launch.argument("--anonymous-requests-per-minute", 0);
    let launch = || unlimited(Launch::run(&node.url()));
    for launch in [launch(), on_database(launch(), &Server::shared().database().await)] {
        let explorer = launch.start().await;
        node.wait_for(&explorer).await;
        let outcomes = async |hash: B256| -> Vec<(Value, Value)> {
            let tx = explorer.json(&format!("/api/v1/transactions/{hash}")).await;
            let outcome = |given: &Value| (given["applied"].clone(), given["ignoredBecause"].clone());
            tx["authorizations"].as_array().unwrap().iter().map(outcome).collect()
        };
        let (applied, ignored) = ((json!(true), Value::Null), (json!(false), json!("other_nonce")));
        assert_eq!(outcomes(sent).await, [applied.clone(), ignored.clone(), ignored]);
        for hash in [again, other, replaced] {
            assert_eq!(outcomes(hash).await, std::slice::from_ref(&applied));
        }
        let page = explorer.get(&format!("/tx/{sent}")).await.text;
        assert!(page.contains("in effect") && page.contains("no effect: the account had another nonce"), "{page}");

        for (account, delegate, since) in
            [(1, Some(delegates[0]), Some(start)), (3, Some(delegates[1]), Some(second)), (0, None, None)]
        {
            let address = lower_hex(node.account(account));
            let found = explorer.json(&format!("/api/v1/addresses/{address}")).await;
            let expected = (json!(delegate.map(lower_hex)), json!(since));
            assert_eq!((found["delegatesTo"].clone(), found["delegatesSince"].clone()), expected, "{found}");
            let page = explorer.get(&format!("/address/{address}")).await.text;
            let says = since.map(|block| format!("since block <a href=\"/block/{block}\""));
            assert_eq!(page.contains("since block"), says.is_some(), "{page}");
            assert!(says.is_none_or(|says| page.contains(&says)), "{page}");
        }
        assert!(changed < second);
    }
    // Of an index that begins later, nothing tells the nonces before.
    let later = unlimited(Launch::run(&node.url()).argument("--start-block", start + 1)).start().await;
    node.wait_for(&later).await;
    let found = later.json(&format!("/api/v1/addresses/{}", lower_hex(node.account(1)))).await;
    assert_eq!((&found["delegatesTo"], &found["delegatesSince"]), (&json!(lower_hex(delegates[0])), &Value::Null));
}

/// Sends a transaction with one authorization, and mines it.
fn authorized(node: &DevNode, signer: usize) -> B256 {
    let authorization = node.chain.authorize(signer, Address::repeat_byte(0xd1)).unwrap();
    let draft = node.chain.draft(0).unwrap().to(Address::ZERO);
    let hash = draft.tx_type(devchain::TransactionType::SetCode(vec![authorization])).submit().unwrap();
    node.chain.mine(None);
    hash
}

#[tokio::test]
async fn traces_for_the_outcome_of_an_authorization_are_paid_for_once_or_not_made() {
    let node = DevNode::start().await;
    let [first, second] = [1, 2].map(|signer| authorized(&node, signer));
    let plain = node.chain.send(0, TxKind::Call(Address::repeat_byte(7)), U256::ONE, Vec::<u8>::new()).unwrap();
    node.chain.mine(None);
    let server = Server::shared();
    let limited = |launch: Launch| launch.argument("--anonymous-requests-per-minute", 10);
    for is_shared in [false, true] {
        // Only with a name of its own, it has the id of the chain.
        let script = Script { client_version: Some("Geth/v1.16.0"), ..Script::default() };
        let counted = FaultyNode::start(&node.chain, 1, script).await;
        let traces = || counted.request_counts().methods.get("debug_traceTransaction").copied().unwrap_or_default();
        let launch = limited(Launch::run(&counted.url()));
        let launch = if is_shared { on_database(launch, &server.database().await) } else { launch };
        let explorer = launch.start().await;
        node.wait_for(&explorer).await;
        let asked = async |hash: B256| {
            let answer = explorer.get(&format!("/api/v1/transactions/{hash}")).await;
            let header = |name: &str| answer.header(name).parse::<u32>().unwrap();
            let applied = answer.json["authorizations"][0]["applied"].clone();
            (applied, header("x-ratelimit-cost"), header("x-ratelimit-remaining"))
        };
        assert_eq!(asked(first).await, (json!(true), 7, 3), "a request, and two traces at most");
        assert!((1..=2).contains(&traces()), "{} traces", traces());
        assert_eq!(asked(first).await, (json!(true), 1, 2), "it is cached");
        let before = traces();
        assert_eq!(asked(second).await, (Value::Null, 1, 1), "too little is left, so it stays unknown");
        assert_eq!((asked(plain).await, traces()), ((Value::Null, 1, 0), before));
        // Pages have a limit of their own.
        let page = explorer.get(&format!("/tx/{second}")).await.text;
        assert!(page.contains("in effect") && traces() > before, "{page}");
    }
}

#[tokio::test]
async fn without_traces_the_outcome_of_an_authorization_is_unknown() {
    let node = DevNode::with(DevChainConfig { traces: false, ..DevChainConfig::default() }).await;
    let hash = authorized(&node, 1);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let given = explorer.json(&format!("/api/v1/transactions/{hash}")).await["authorizations"][0].clone();
    assert_eq!((&given["applied"], &given["ignoredBecause"]), (&Value::Null, &Value::Null), "{given}");
    let page = explorer.get(&format!("/tx/{hash}")).await.text;
    assert!(page.contains("unknown: the node does not trace it"), "{page}");
}

#[tokio::test]
async fn an_authorization_without_a_valid_signature_has_no_signer() {
    let list = json!([{
        "chainId": "0x1", "address": BOB, "nonce": "0x5", "yParity": "0x0", "r": "0x0", "s": "0x0",
    }]);
    let sent = payment(0, json!({"type": "0x4", "authorizationList": list, "value": "0x0"}), json!({}));
    let header = json!({ "baseFeePerGas": "0x7" });
    let node = ReplayNode::start(1, &[Draft { header, transactions: vec![sent], ..Draft::default() }]).await;
    on_both_stores(&node, async |explorer| {
        let tx = explorer.json(&format!("/api/v1/transactions/{}", node.hash(1, 0))).await;
        let expected = json!([{
            "chainId": "1", "delegate": BOB, "nonce": "5", "signer": null, "applied": false,
            "ignoredBecause": "invalid_signature",
        }]);
        assert_eq!(tx["authorizations"], expected, "{tx}");
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
        assert!(page.contains("no valid signature"), "{page}");
    })
    .await;
}

/// What the page says in one line, in lower case.
async fn summary(explorer: &TestExplorer, hash: &str) -> String {
    let page = explorer.get(&format!("/tx/{hash}")).await.text.to_lowercase();
    page.split("<p class=\"summary\">").nth(1).and_then(|rest| rest.split("</p>").next()).unwrap().to_owned()
}

#[tokio::test]
async fn the_end_of_a_delegation_another_chain_and_a_call_beside_it_are_told() {
    let given = |chain: &str, delegate: &str| json!({"chainId": chain, "address": delegate, "nonce": "0x5", "yParity": "0x0", "r": "0x0", "s": "0x0"});
    let ending = json!([given("0x0", &format!("0x{}", "0".repeat(40))), given("0x2", BOB)]);
    let sent = |nonce: u64, mut fields: Value, status: &str| {
        fields["type"] = json!("0x4");
        payment(nonce, fields, json!({ "status": status }))
    };
    let call = json!({"authorizationList": [given("0x1", BOB)], "input": "0x12345678", "value": "0x0"});
    let transactions = vec![
        sent(0, json!({"authorizationList": ending, "value": "0x0"}), "0x1"),
        sent(1, call.clone(), "0x1"),
        sent(2, call, "0x0"),
    ];
    let header = json!({ "baseFeePerGas": "0x7" });
    let node = ReplayNode::start(1, &[Draft { header, transactions, ..Draft::default() }]).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let line = summary(&explorer, &node.hash(1, 0)).await;
    let ended = "asked without a valid signature that an account delegates to nobody any more, and one more account";
    assert_eq!(line, ended);
    let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
    assert!(page.contains("every chain") && page.contains("no effect: another chain"), "{page}");
    for (index, start) in [(1, "called 0x12345678 on "), (2, "failed to call 0x12345678 on ")] {
        let line = summary(&explorer, &node.hash(1, index)).await;
        assert!(line.starts_with(start) && line.contains(", and asked without a valid signature"), "{line}");
    }
}

#[tokio::test]
async fn a_type_has_its_name_and_an_unknown_one_its_number() {
    let of_type = |nonce: u64, tx_type: &str| {
        let hash = alloy_primitives::B256::repeat_byte(u8::try_from(nonce).unwrap() + 1);
        let own =
            json!({"type": tx_type, "hash": hash, "gasPrice": "0x9", "ticketFee": "0x2a", "parts": ["0x1", {"a": 2}]});
        payment(nonce, own, json!({}))
    };
    let types = [("0x6a", "type 106 (internal)"), ("0x7e", "type 126 (deposit)"), ("0x55", "type 85 (unknown)")];
    let transactions = (0..).zip(types).map(|(nonce, (tx_type, _))| of_type(nonce, tx_type)).collect();
    let header = json!({ "baseFeePerGas": "0x7" });
    let node = ReplayNode::start(42_161, &[Draft { header, transactions, ..Draft::default() }]).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    for (index, (number, name)) in types.into_iter().enumerate() {
        let page = explorer.get(&format!("/tx/{}", node.hash(1, index))).await.text;
        assert!(page.contains(name) && page.contains("<dt>ticketFee</dt>"), "{number}: {page}");
        let tx = explorer.json(&format!("/api/v1/transactions/{}", node.hash(1, index))).await;
        let fields = json!({"ticketFee": "0x2a", "parts": r#"["0x1",{"a":2}]"#});
        assert_eq!(
            (&tx["type"].as_u64(), &tx["otherFields"]),
            (&u64::from_str_radix(&number[2..], 16).ok(), &fields),
            "{tx}"
        );
    }
    let list: Value = explorer.json(&format!("/api/v1/transactions?address={ALICE}")).await;
    assert_eq!(list["total"], 3);
}
