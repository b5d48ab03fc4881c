//! What is not known is null, named or refused, and never zero.

use alloy_primitives::{Address, B256, TxKind, U256, keccak256};
use devchain::ReorgedTransactions::Drop;
use serde_json::{Value, json};

use crate::{
    postgres::{on_database, server::Server},
    support::{
        DevNode, Fault, FaultyNode, Launch, Script, TestExplorer, eventually, fixture::lower_hex, receiver::Receiver,
    },
    webhooks::{self, register},
};

/// A contract that emits its input as a log with so many topics. It answers every other call with nothing.
fn emitter(topics: u8) -> Vec<u8> {
    let head = topics * 32;
    // Less input than the topics: stop. Else copy the input to memory.
    let mut code = vec![0x60, head, 0x36, 0x10, 0x60, 0, 0x57, 0x36, 0x5f, 0x5f, 0x37];
    for topic in (0..topics).rev() {
        code.extend([0x60, topic * 32, 0x51]);
    }
    code.extend([0x60, head, 0x36, 0x03, 0x60, head, 0xa0 + topics]);
    code[5] = u8::try_from(code.len()).unwrap();
    code.extend([0x5b, 0x00]);
    let length = u8::try_from(code.len()).unwrap();
    [&[0x60, length, 0x80, 0x60, 9, 0x5f, 0x39, 0x5f, 0xf3][..], &code].concat()
}

/// A token whose contract has no functions, only events.
struct Token {
    address: Address,
    event: B256,
}

impl Token {
    async fn deploy(node: &DevNode, topics: u8, event: &str) -> Self {
        let nonce = node.chain.nonce(node.account(0));
        node.chain.send(0, TxKind::Create, U256::ZERO, emitter(topics)).unwrap();
        node.chain.mine(None);
        let address = node.account(0).create(nonce);
        assert!(!node.chain.code(address).is_empty());
        Self { address, event: keccak256(event) }
    }

    /// Emits a log with these words after the first topic.
    fn emit(&self, node: &DevNode, words: &[U256]) {
        let words = words.iter().flat_map(|word| word.to_be_bytes::<32>());
        let input: Vec<u8> = self.event.0.into_iter().chain(words).collect();
        node.chain.send(0, TxKind::Call(self.address), U256::ZERO, input).unwrap();
    }

    fn path(&self) -> String {
        format!("/api/v1/tokens/{}", lower_hex(self.address))
    }

    async fn wait_for_supply(&self, explorer: &TestExplorer, supply: &str, unknown: &Value) {
        eventually(&format!("a supply of {supply}"), async || {
            // Not found until its first transfer is indexed.
            let token = explorer.get(&self.path()).await.json;
            (token["totalSupply"] == supply && token["unknownFields"] == *unknown).then_some(())
        })
        .await;
    }
}

fn word(address: Address) -> U256 {
    U256::from_be_bytes(address.into_word().0)
}

const ZERO: U256 = U256::ZERO;

/// A BEP20, a BEP721 and a BEP1155 token, none of which has `totalSupply()`.
struct Tokens {
    coin: Token,
    pieces: Token,
    items: Token,
}

impl Tokens {
    async fn deploy(node: &DevNode) -> Self {
        Self {
            coin: Token::deploy(node, 3, "Transfer(address,address,uint256)").await,
            pieces: Token::deploy(node, 4, "Transfer(address,address,uint256)").await,
            items: Token::deploy(node, 4, "TransferSingle(address,address,address,uint256,uint256)").await,
        }
    }

    fn mint(&self, node: &DevNode) {
        let alice = word(node.account(1));
        self.coin.emit(node, &[ZERO, alice, U256::from(1_000)]);
        for id in [7, 8] {
            self.pieces.emit(node, &[ZERO, alice, U256::from(id)]);
            self.items.emit(node, &[alice, ZERO, alice, U256::from(id), U256::from(20)]);
        }
        node.chain.mine(None);
    }

    fn burn(&self, node: &DevNode) {
        let alice = word(node.account(1));
        self.coin.emit(node, &[alice, ZERO, U256::from(1)]);
        self.pieces.emit(node, &[alice, ZERO, U256::from(8)]);
        self.items.emit(node, &[alice, alice, ZERO, U256::from(8), U256::from(5)]);
        node.chain.mine(None);
    }

    async fn wait_for_supplies(&self, explorer: &TestExplorer, [coin, pieces, items]: [&str; 3]) {
        self.coin.wait_for_supply(explorer, coin, &json!(["decimals"])).await;
        self.pieces.wait_for_supply(explorer, pieces, &json!([])).await;
        self.items.wait_for_supply(explorer, items, &json!([])).await;
    }
}

#[tokio::test]
async fn the_supply_of_a_token_that_does_not_tell_it_is_what_holders_have_on_both_stores() {
    let node = DevNode::start().await;
    let server = Server::shared();
    let url = server.database().await;
    let embedded = TestExplorer::start(&node.url()).await;
    let database = on_database(Launch::run(&node.url()), &url).start().await;
    let tokens = Tokens::deploy(&node).await;
    tokens.mint(&node);
    for explorer in [&embedded, &database] {
        tokens.wait_for_supplies(explorer, ["1000", "2", "40"]).await;
    }
    tokens.burn(&node);
    for explorer in [&embedded, &database] {
        tokens.wait_for_supplies(explorer, ["999", "1", "35"]).await;
        // Everything but the chain's own figures is the same in the query endpoint.
        eventually("the same tokens; an audit may come between two requests", async || {
            let queried = explorer.client().query(json!({ "entity": "tokens" })).await;
            let listed = explorer.json("/api/v1/tokens").await;
            (queried["data"] == listed["tokens"]).then_some(())
        })
        .await;
        let pieces = explorer.get(&format!("/token/{}", tokens.pieces.address)).await.text;
        assert!(pieces.contains("<dt>Supply</dt><dd><span class=\"num\" title=\"1 (1)\">1</span></dd>"), "{pieces}");
        let coin = explorer.get(&format!("/token/{}", tokens.coin.address)).await.text;
        assert!(
            coin.contains("999 units") && coin.contains("<dt>Decimals</dt><dd class=\"num\">unknown</dd>"),
            "{coin}"
        );
    }
    // The burns are reverted.
    node.chain.reorg(1, 2, Drop).unwrap();
    for explorer in [&embedded, &database] {
        node.wait_for(explorer).await;
        tokens.wait_for_supplies(explorer, ["1000", "2", "40"]).await;
    }
}

#[tokio::test]
async fn the_supply_is_unknown_if_the_index_does_not_have_all_transfers() {
    let node = DevNode::start().await;
    let tokens = Tokens::deploy(&node).await;
    tokens.mint(&node);
    let first = node.chain.head().number + 1;
    tokens.pieces.emit(&node, &[ZERO, word(node.account(1)), U256::from(9)]);
    node.chain.mine(None);
    let explorer = Launch::run(&node.url()).argument("--start-block", first).start().await;
    node.wait_for(&explorer).await;
    tokens.pieces.wait_for_supply(&explorer, "0", &json!(["totalSupply"])).await;
    let page = explorer.get(&format!("/token/{}", tokens.pieces.address)).await.text;
    assert!(page.contains("<dt>Supply</dt><dd class=\"muted\">unknown</dd>"), "{page}");
    let file = explorer.get("/tokens?format=csv").await.text;
    let line = file.lines().find(|line| line.contains("BEP721") || line.contains("ERC721")).unwrap();
    assert_eq!(line.split(',').nth(5), Some(""), "{file}");
    let tokeninfo = format!("/api?module=token&action=tokeninfo&contractaddress={}", lower_hex(tokens.pieces.address));
    assert_eq!(explorer.json(&tokeninfo).await["result"][0]["totalSupply"], "");
}

#[tokio::test]
async fn a_contract_whose_code_was_not_read_is_not_called_unverified() {
    let dev = DevNode::start().await;
    let node = FaultyNode::start(&dev.chain, 1, Script::default()).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    node.set_behavior(Script { faults: vec![("eth_getCode", Fault::Status(503), 1.0)], ..Script::default() });
    let contract = Token::deploy(&dev, 4, "Transfer(address,address,uint256)").await.address;
    node.wait_for(&explorer).await;
    let unknown = "Unknown: the code has not been read from the node.";
    let page = explorer.get(&format!("/address/{contract}")).await.text;
    assert!(page.contains(unknown) && !page.contains(">not verified<"), "{page}");
    let page = explorer.get(&format!("/address/{contract}?tab=contract")).await.text;
    assert!(page.contains("Whether this contract is verified is unknown"), "{page}");
    assert!(!page.contains("This contract is not verified"), "{page}");

    node.set_behavior(Script::default());
    eventually("the code is read", async || {
        let page = explorer.get(&format!("/address/{contract}?tab=contract")).await.text;
        (page.contains("This contract is not verified.") && page.contains(">not verified<")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_token_that_was_not_read_yet_has_no_name_and_no_decimals() {
    let dev = DevNode::start().await;
    let pieces = Token::deploy(&dev, 4, "Transfer(address,address,uint256)").await;
    let node = FaultyNode::start(&dev.chain, 1, Script::default()).await;
    let explorer = webhooks::launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let alice = dev.account(1);
    let receiver = Receiver::start().await;
    register(&explorer, &receiver.url("/hook"), &lower_hex(alice), &["token_transfer"]).await;

    // Blocks are served, calls are not.
    node.set_behavior(Script { faults: vec![("eth_call", Fault::Status(503), 1.0)], ..Script::default() });
    pieces.emit(&dev, &[ZERO, word(alice), U256::from(7)]);
    dev.chain.mine(None);
    node.wait_for(&explorer).await;
    let token = explorer.json(&pieces.path()).await;
    assert_eq!(token["unknownFields"], json!(["name", "symbol", "decimals", "totalSupply"]), "{token}");
    assert_eq!(token["holderCount"], 1);
    let transfers = json!({ "entity": "token_transfers" });
    let unread = [Value::Null, Value::Null, Value::Null];
    let names = |transfer: &Value| ["tokenName", "tokenSymbol", "tokenDecimals"].map(|name| transfer[name].clone());
    assert_eq!(names(&explorer.client().query(transfers.clone()).await["data"][0]), unread);
    let held = explorer.json(&format!("/api/v1/addresses/{}/nfts", lower_hex(alice))).await;
    assert_eq!(
        (&held["nfts"][0]["tokenName"], &held["nfts"][0]["tokenSymbol"]),
        (&Value::Null, &Value::Null),
        "{held}"
    );
    let page = explorer.get(&format!("/token/{}", pieces.address)).await.text;
    assert!(page.contains("<dt>Supply</dt><dd class=\"muted\">unknown</dd>"), "{page}");
    let message = receiver.wait_for("/hook", 1).await.remove(0).json();
    assert_eq!(names(&message["data"]), unread, "{message}");

    node.set_behavior(Script::default());
    pieces.wait_for_supply(&explorer, "1", &json!([])).await;
    assert_eq!(names(&explorer.client().query(transfers).await["data"][0]), [json!(""), json!(""), json!(0)]);
}
