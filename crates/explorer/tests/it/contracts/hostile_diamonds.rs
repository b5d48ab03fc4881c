//! Loupes with false or malformed results.

use serde_json::json;

use super::{
    diamonds::{DiamondFixture, LOUPE, selector_word},
    verifier_fixture::{as_word, calldata, word},
};
use crate::support::Stopwatch;

/// ABI-encoded result of `facets()`.
fn facets(listed: &[(&str, &[&str])]) -> String {
    let bodies: Vec<String> = listed
        .iter()
        .map(|(facet, signatures)| {
            let selectors: String = signatures.iter().map(|signature| selector_word(signature)).collect();
            format!("{}{}{}{selectors}", as_word(facet), word(64), word(signatures.len() as u64))
        })
        .collect();
    let mut offset = 32 * listed.len() as u64;
    let mut text = format!("{}{}", word(32), word(listed.len() as u64));
    for body in &bodies {
        text += &word(offset);
        offset += body.len() as u64 / 2;
    }
    text + &bodies.concat()
}

impl DiamondFixture {
    /// Sets what a false diamond returns for a selector, in hexadecimal digits.
    async fn say(&self, diamond: &str, signature: &str, answer: &str) {
        let padded = format!("{answer}{}", "0".repeat(answer.len().next_multiple_of(64) - answer.len()));
        let words = [selector_word(signature), word(64), word(answer.len() as u64 / 2), padded];
        self.fixture.send(diamond, &calldata("say(bytes4,bytes)", &words)).await;
    }
}

#[tokio::test]
async fn a_function_is_listed_only_if_the_loupe_routes_it_to_a_facet_that_has_it() {
    let diamonds = DiamondFixture::open().await;
    let fixture = &diamonds.fixture;
    let (counter, doubling) =
        (diamonds.compile_and_deploy("CounterFacet", "").await, diamonds.compile_and_deploy("DoublingFacet", "").await);
    diamonds.verify(&counter, "CounterFacet").await;
    diamonds.verify(&doubling, "DoublingFacet").await;
    let diamond = diamonds.compile_and_deploy("FalseDiamond", "").await;
    diamonds.verify(&diamond, "FalseDiamond").await;
    let call = async |function: &str| fixture.call(&diamond, function, json!([])).await;

    // facets() lists the counter, facetAddress() returns another contract.
    diamonds.say(&diamond, "facets()", &facets(&[(&counter, &["total()", "sender()"])])).await;
    diamonds.say(&diamond, "total()", &word(5)).await;
    diamonds.say(&diamond, "facetAddress(bytes4)", &as_word(&doubling)).await;
    for function in ["total", "sender"] {
        let answer = call(function).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("functionName")), "{}", answer.json);
    }
    let page = fixture.page(&format!("/address/{diamond}?tab=contract")).await;
    assert!(!page.contains("value=\"total()\"") && page.contains("value=\"honest()\""), "{page}");
    let claimed = ["<bdi>CounterFacet</bdi>", "<code>0x2ddbd13a</code>"];
    assert!(claimed.iter().all(|claim| page.contains(claim)), "what it claims is shown:\n{page}");
    let contract = fixture.explorer.json(&format!("/api/v1/contracts/{diamond}")).await;
    assert_eq!(contract["facets"][0]["functions"], json!([]), "{}", contract["facets"]);

    // Both agree: only functions that the facet has are listed.
    diamonds.say(&diamond, "facetAddress(bytes4)", &as_word(&counter)).await;
    diamonds.say(&diamond, "facets()", &facets(&[(&counter, &["total()", "total(uint256)"])])).await;
    assert_eq!(call("total").await.ok()["result"], "5");
    assert_eq!(call("total(uint256)").await.status, 400, "the counter has no such function");
    assert_eq!(call("sender").await.status, 400, "the counter has it, and it is not listed any more");

    // A function listed for two facets belongs to neither.
    let twice = facets(&[(&counter, &["total()"]), (&doubling, &["total()"])]);
    diamonds.say(&diamond, "facets()", &twice).await;
    assert_eq!(call("total").await.status, 400);
    // A result that is not an address.
    diamonds.say(&diamond, "facets()", &facets(&[(&counter, &["total()"])])).await;
    diamonds.say(&diamond, "facetAddress(bytes4)", &"ff".repeat(32)).await;
    assert_eq!(call("total").await.status, 400);
    assert_eq!(call("honest").await.ok()["result"], false, "its own interface is there all the while");
}

#[tokio::test]
async fn a_diamond_stays_callable_whatever_its_loupe_returns() {
    let diamonds = DiamondFixture::open().await;
    let fixture = &diamonds.fixture;
    let counter = diamonds.compile_and_deploy("CounterFacet", "").await;
    diamonds.verify(&counter, "CounterFacet").await;
    let diamond = diamonds.compile_and_deploy("FalseDiamond", "").await;
    diamonds.verify(&diamond, "FalseDiamond").await;
    // 300 facets at the same offset, each with 300 selectors at the same offset.
    let bomb: String = std::iter::once(32)
        .chain(std::iter::once(300))
        .chain(std::iter::repeat_n(9_600, 300))
        .chain([1, 64, 300])
        .map(word)
        .collect();
    let endless = format!("{}{}", word(32), "ff".repeat(32));
    let many: Vec<String> = (1..=60).map(|number| format!("0x{number:040x}")).collect();
    let many: Vec<(&str, &[&str])> = many.iter().map(|facet| (facet.as_str(), &["total()"][..])).collect();
    for answer in ["ff", &"ff".repeat(640), &endless, &bomb, &facets(&[]), &facets(&many)] {
        for question in &LOUPE[..2] {
            diamonds.say(&diamond, question, answer).await;
        }
        diamonds.say(&diamond, "facetFunctionSelectors(address)", answer).await;
        assert_eq!(fixture.result(&diamond, "honest", json!([])).await, false);
        assert_eq!(fixture.call(&diamond, "total", json!([])).await.status, 400);
        fixture.page(&format!("/address/{diamond}?tab=contract")).await;
    }

    // A list that uses all gas, and endless addresses.
    let endless = diamonds.compile_and_deploy("EndlessDiamond", "").await;
    diamonds.verify(&endless, "EndlessDiamond").await;
    let watch = Stopwatch::start();
    assert_eq!(fixture.result(&endless, "harmless", json!([])).await, "7");
    fixture.page(&format!("/address/{endless}?tab=contract")).await;
    fixture.explorer.json(&format!("/api/v1/contracts/{endless}")).await;
    watch.assert_within(60);
    assert_eq!(fixture.explorer.json("/health").await["status"], "ok");
}
