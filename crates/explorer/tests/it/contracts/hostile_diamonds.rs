//! Loupes that lie, or answer with anything.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    diamonds::{LOUPE, Workshop, selector_word},
    yard::{as_word, calldata, word},
};

/// Lists of facets as `facets()` returns them.
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

impl Workshop {
    /// Has a false diamond answer a selector with these bytes, in hexadecimal digits.
    async fn say(&self, diamond: &str, signature: &str, answer: &str) {
        let padded = format!("{answer}{}", "0".repeat(answer.len().next_multiple_of(64) - answer.len()));
        let words = [selector_word(signature), word(64), word(answer.len() as u64 / 2), padded];
        self.yard.send(diamond, &calldata("say(bytes4,bytes)", &words)).await;
    }
}

#[tokio::test]
async fn a_function_is_listed_only_if_the_loupe_routes_it_to_a_facet_that_has_it() {
    let workshop = Workshop::open().await;
    let yard = &workshop.yard;
    let (counter, doubling) = (workshop.put("CounterFacet", "").await, workshop.put("DoublingFacet", "").await);
    workshop.verify(&counter, "CounterFacet").await;
    workshop.verify(&doubling, "DoublingFacet").await;
    let diamond = workshop.put("FalseDiamond", "").await;
    workshop.verify(&diamond, "FalseDiamond").await;
    let call = async |function: &str| yard.call(&diamond, function, json!([])).await;

    // The list says the counter, the answer for the selector says somebody else.
    workshop.say(&diamond, "facets()", &facets(&[(&counter, &["total()", "sender()"])])).await;
    workshop.say(&diamond, "total()", &word(5)).await;
    workshop.say(&diamond, "facetAddress(bytes4)", &as_word(&doubling)).await;
    for function in ["total", "sender"] {
        let answer = call(function).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("functionName")), "{}", answer.json);
    }
    let page = yard.page(&format!("/address/{diamond}?tab=contract")).await;
    assert!(!page.contains("value=\"total()\"") && page.contains("value=\"honest()\""), "{page}");
    let claimed = ["<bdi>CounterFacet</bdi>", "<code>0x2ddbd13a</code>"];
    assert!(claimed.iter().all(|claim| page.contains(claim)), "what it claims is shown:\n{page}");
    let contract = yard.explorer.json(&format!("/api/v1/contracts/{diamond}")).await;
    assert_eq!(contract["facets"][0]["functions"], json!([]), "{}", contract["facets"]);

    // Both agree: now the function is offered, and only those that the facet has.
    workshop.say(&diamond, "facetAddress(bytes4)", &as_word(&counter)).await;
    workshop.say(&diamond, "facets()", &facets(&[(&counter, &["total()", "total(uint256)"])])).await;
    assert_eq!(call("total").await.ok()["result"], "5");
    assert_eq!(call("total(uint256)").await.status, 400, "the counter has no such function");
    assert_eq!(call("sender").await.status, 400, "the counter has it, and it is not listed any more");

    // Listed for two facets, it is taken for neither.
    let twice = facets(&[(&counter, &["total()"]), (&doubling, &["total()"])]);
    workshop.say(&diamond, "facets()", &twice).await;
    assert_eq!(call("total").await.status, 400);
    // An answer that is no address.
    workshop.say(&diamond, "facets()", &facets(&[(&counter, &["total()"])])).await;
    workshop.say(&diamond, "facetAddress(bytes4)", &"ff".repeat(32)).await;
    assert_eq!(call("total").await.status, 400);
    assert_eq!(call("honest").await.ok()["result"], false, "its own interface is there all the while");
}

#[tokio::test]
async fn a_diamond_stays_callable_whatever_its_loupe_returns() {
    let workshop = Workshop::open().await;
    let yard = &workshop.yard;
    let counter = workshop.put("CounterFacet", "").await;
    workshop.verify(&counter, "CounterFacet").await;
    let diamond = workshop.put("FalseDiamond", "").await;
    workshop.verify(&diamond, "FalseDiamond").await;
    // 300 facets that all are the same place, each a list of 300 selectors in the same place.
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
            workshop.say(&diamond, question, answer).await;
        }
        workshop.say(&diamond, "facetFunctionSelectors(address)", answer).await;
        assert_eq!(yard.result(&diamond, "honest", json!([])).await, false);
        assert_eq!(yard.call(&diamond, "total", json!([])).await.status, 400);
        yard.page(&format!("/address/{diamond}?tab=contract")).await;
    }

    // A list that takes all gas, and addresses without end.
    let endless = workshop.put("EndlessDiamond", "").await;
    workshop.verify(&endless, "EndlessDiamond").await;
    let begun = Instant::now();
    assert_eq!(yard.result(&endless, "harmless", json!([])).await, "7");
    yard.page(&format!("/address/{endless}?tab=contract")).await;
    yard.explorer.json(&format!("/api/v1/contracts/{endless}")).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(yard.explorer.json("/health").await["status"], "ok");
}
