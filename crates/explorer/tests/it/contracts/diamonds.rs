//! Diamonds (EIP-2535): calls and pages use the facets that the loupe returns.

use serde_json::{Value, json};

use super::verifier_fixture::{VerifierFixture, as_word, calldata, code_of, compile, input, word};

pub(super) const PATH: &str = "Diamond.sol";
pub(super) const SOURCE: &str = include_str!("../../contracts/Diamond.sol");
pub(super) const VERSION: &str = "0.8.20+commit.a1b79de6";

pub(super) const LOUPE: [&str; 4] =
    ["facets()", "facetAddresses()", "facetFunctionSelectors(address)", "facetAddress(bytes4)"];
const COUNTER: [&str; 4] = ["count(uint256)", "total()", "sender()", "limited(uint256)"];

/// A selector as an ABI word.
pub(super) fn selector_word(signature: &str) -> String {
    format!("{:0<64}", &calldata(signature, &[])[2..])
}

/// The contracts of the source, compiled once.
pub(super) struct DiamondFixture {
    pub(super) fixture: VerifierFixture,
    output: Value,
}

impl DiamondFixture {
    pub(super) async fn open() -> Self {
        let settings = json!({ "optimizer": { "enabled": true, "runs": 200 } });
        let output = compile("0.8.20", vec![input(PATH, SOURCE, &settings)]).await.remove(0);
        Self { fixture: VerifierFixture::start().await, output }
    }

    pub(super) async fn compile_and_deploy(&self, contract: &str, arguments: &str) -> String {
        self.fixture.deploy(&format!("{}{arguments}", code_of(&self.output, PATH, contract))).await
    }

    pub(super) async fn verify(&self, address: &str, name: &str) {
        assert_eq!(self.fixture.verify(address, VERSION, SOURCE).await["contractName"], name);
    }

    /// Routes these functions of a diamond to a facet.
    async fn cut(&self, diamond: &str, facet: &str, signatures: &[&str]) {
        let selectors = signatures.iter().map(|signature| selector_word(signature));
        let words: Vec<String> =
            [as_word(facet), word(64), word(signatures.len() as u64)].into_iter().chain(selectors).collect();
        self.fixture.send(diamond, &calldata("cut(address,bytes4[])", &words)).await;
    }
}

#[tokio::test]
async fn a_diamond_is_called_through_its_verified_facets() {
    let diamonds = DiamondFixture::open().await;
    let fixture = &diamonds.fixture;
    let diamond = diamonds.compile_and_deploy("Diamond", "").await;
    let (loupe, counter) =
        (diamonds.compile_and_deploy("LoupeFacet", "").await, diamonds.compile_and_deploy("CounterFacet", "").await);
    diamonds.cut(&diamond, &loupe, &LOUPE).await;
    diamonds.cut(&diamond, &counter, &COUNTER).await;
    let counted = fixture.send(&diamond, &calldata("count(uint256)", &[word(5)])).await;
    let answer = fixture.call(&diamond, "total", json!([])).await;
    assert_eq!((answer.status, &answer.json["code"]), (404, &json!("contract_not_verified")), "no facet is verified");

    diamonds.verify(&counter, "CounterFacet").await;
    assert_eq!(fixture.result(&diamond, "total", json!([])).await, "5");
    let call = format!("/api/v1/contracts/{diamond}/call");
    assert_eq!(fixture.explorer.json(&format!("{call}?functionName=total()")).await["result"], "5");
    let from = fixture.explorer.json(&format!("{call}?functionName=sender&from={}", fixture.from)).await;
    assert_eq!(from["result"], fixture.from);
    let reverted = fixture.call(&diamond, "limited", json!([2000])).await;
    assert_eq!((reverted.status, &reverted.json["detail"]), (422, &json!("the call reverted: TooMuch(limit: 1000)")));
    assert_eq!(fixture.call(&diamond, "count", json!([1])).await.status, 400, "it does not only read");
    let hidden = fixture.call(&diamond, "hidden", json!([])).await;
    assert_eq!(hidden.status, 400, "the facet has it, the diamond does not hand it on: {}", hidden.json);
    assert!(!hidden.json["detail"].as_str().unwrap().contains("hidden()"), "{}", hidden.json);
    assert_eq!(fixture.call(&diamond, "facets", json!([])).await.status, 400, "the loupe itself is not verified");

    // Another facet replaces a function and adds an overload. The old one stays callable at its block.
    let before = fixture.anvil.block_number().await;
    let doubling = diamonds.compile_and_deploy("DoublingFacet", "").await;
    diamonds.verify(&doubling, "DoublingFacet").await;
    diamonds.cut(&diamond, &doubling, &["total()", "total(uint256)"]).await;
    assert_eq!(
        fixture.call(&diamond, "total", json!([])).await.text,
        r#"{"result":{"0":"5","plain":"5","1":"10","doubled":"10"}}"#
    );
    assert_eq!(fixture.result(&diamond, "total", json!([3])).await, "15");
    assert_eq!(fixture.explorer.json(&format!("{call}?functionName=total&blockNumber={before}")).await["result"], "5");
    let early =
        fixture.explorer.get(&format!("{call}?functionName=total(uint256)&args=%5B3%5D&blockNumber={before}")).await;
    assert_eq!(early.status, 400, "{}", early.json);

    diamonds.verify(&loupe, "LoupeFacet").await;
    diamonds.verify(&diamond, "Diamond").await;
    assert_eq!(fixture.result(&diamond, "facetAddress", json!(["0x2ddbd13a"])).await, doubling);
    let contract = fixture.explorer.json(&format!("/api/v1/contracts/{diamond}")).await;
    let facets = contract["facets"].as_array().unwrap();
    let named: Vec<_> = facets.iter().map(|facet| (facet["name"].as_str(), facet["address"].as_str())).collect();
    let expected = [("LoupeFacet", &loupe), ("CounterFacet", &counter), ("DoublingFacet", &doubling)];
    for (name, address) in expected {
        assert!(named.contains(&(Some(name), Some(address.as_str()))), "{named:?}");
    }
    let counter_facet = facets.iter().find(|facet| facet["name"] == "CounterFacet").unwrap();
    assert_eq!(counter_facet["functions"], json!(["count(uint256)", "limited(uint256)", "sender()"]));
    assert_eq!(counter_facet["selectors"].as_array().unwrap().len(), 3);

    let page = fixture.page(&format!("/address/{diamond}?tab=contract")).await;
    for expected_text in [
        "<bdi>LoupeFacet</bdi>",
        "<bdi>CounterFacet</bdi>",
        "<code>limited(uint256)</code>",
        "value=\"total(uint256)\"",
        "id=\"call-from\"",
        "id=\"call-block\"",
    ] {
        assert!(page.contains(expected_text), "{expected_text} is missing:\n{page}");
    }
    assert!(!page.contains("<code>hidden()</code>") && !page.contains("value=\"hidden()\""), "{page}");
    let page = fixture.page(&format!("/tx/{counted}")).await;
    for expected_text in
        ["<span class=\"method\">count</span>", "count(uint256)", "Counted(address,uint256)", "newTotal"]
    {
        assert!(page.contains(expected_text), "{expected_text} is missing:\n{page}");
    }
}

#[tokio::test]
async fn a_proxy_in_front_of_a_diamond_has_its_own_facets() {
    let diamonds = DiamondFixture::open().await;
    let fixture = &diamonds.fixture;
    let diamond = diamonds.compile_and_deploy("Diamond", "").await;
    let loupe = diamonds.compile_and_deploy("LoupeFacet", "").await;
    let (counter, doubling) =
        (diamonds.compile_and_deploy("CounterFacet", "").await, diamonds.compile_and_deploy("DoublingFacet", "").await);
    diamonds.verify(&counter, "CounterFacet").await;
    diamonds.verify(&doubling, "DoublingFacet").await;
    // The diamond itself doubles; the proxy in front of it counts.
    diamonds.cut(&diamond, &loupe, &LOUPE).await;
    diamonds.cut(&diamond, &doubling, &["total()"]).await;

    let minimal_of = async |target: &str| {
        let code = format!("363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5bf3", &target[2..]);
        fixture.deploy(&format!("3d602d80600a3d3981f3{code}")).await
    };
    let minimal = minimal_of(&diamond).await;
    let farther = minimal_of(&minimal).await;
    let front = diamonds.compile_and_deploy("FrontProxy", &as_word(&diamond)).await;
    // A diamond whose EIP-1967 slot has a contract that it does not delegate to.
    let placeholder = diamonds.compile_and_deploy("PlaceholderDiamond", &as_word(&doubling)).await;
    for proxy in [&minimal, &front, &farther, &placeholder] {
        // A loupe without facets() is read facet by facet.
        diamonds.cut(proxy, &loupe, &LOUPE[1..]).await;
        diamonds.cut(proxy, &counter, &COUNTER).await;
        fixture.send(proxy, &calldata("count(uint256)", &[word(7)])).await;
        assert_eq!(fixture.result(proxy, "total", json!([])).await, "7");
        assert_eq!(fixture.result(proxy, "sender", json!([])).await, "0x0000000000000000000000000000000000000000");
        let page = fixture.page(&format!("/address/{proxy}?tab=contract")).await;
        assert!(
            page.contains("A proxy") && page.contains("CounterFacet") && page.contains("value=\"total()\""),
            "{page}"
        );
    }
    assert_eq!(
        fixture.call(&diamond, "total", json!([])).await.text,
        r#"{"result":{"0":"0","plain":"0","1":"0","doubled":"0"}}"#
    );
}
