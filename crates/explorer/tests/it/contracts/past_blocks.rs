//! Calls at past blocks, when the address had other code or none.

use serde_json::{Value, json};

use super::verifier_fixture::{VerifierFixture, calldata, code_of, compile, input, word};
use crate::support::client::Answer;

const PATH: &str = "Metamorphic.sol";
const SOURCE: &str = include_str!("../../contracts/Metamorphic.sol");
const VERSION: &str = "0.8.20+commit.a1b79de6";

/// `make(bytes)` with the code that a contract has once it is deployed.
async fn make(fixture: &VerifierFixture, deployed: &str) -> String {
    let code = fixture.anvil.rpc.call("eth_getCode", json!([deployed, "latest"])).await;
    let digits = code.as_str().unwrap().trim_start_matches("0x");
    let padded = format!("{digits}{}", "0".repeat(digits.len().next_multiple_of(64) - digits.len()));
    calldata("make(bytes)", &[word(32), word(digits.len() as u64 / 2), padded])
}

#[tokio::test]
async fn a_call_at_a_past_block_uses_the_abi_of_the_code_at_that_block() {
    // Later hard forks do not remove a destroyed contract.
    let fixture = VerifierFixture::with(&["--hardfork", "shanghai"]).await;
    let settings = json!({ "optimizer": { "enabled": true, "runs": 200 } });
    let output = compile("0.8.20", vec![input(PATH, SOURCE, &settings)]).await.remove(0);
    let code = |name: &str| code_of(&output, PATH, name);
    let maker = fixture.deploy(&code("Metamorphic")).await;
    let caterpillar = fixture.deploy(&code("Caterpillar")).await;
    let butterfly = fixture.deploy(&code("Butterfly")).await;
    assert_eq!(fixture.verify(&caterpillar, VERSION, SOURCE).await["contractName"], "Caterpillar");
    assert_eq!(fixture.verify(&butterfly, VERSION, SOURCE).await["contractName"], "Butterfly");

    let first = make(&fixture, &caterpillar).await;
    let request = json!({ "from": fixture.from, "to": maker, "data": first });
    let made = fixture.anvil.rpc.call("eth_call", json!([request, "latest"])).await;
    let address = format!("0x{}", &made.as_str().unwrap()[26..]);
    let at = async |function: &str, block: Option<u64>| -> Answer {
        let mut body = json!({ "functionName": function });
        if let Some(block) = block {
            body["blockNumber"] = Value::from(block);
        }
        fixture.post(&format!("/api/v1/contracts/{address}/call"), &body).await
    };

    let before = fixture.anvil.block_number().await;
    fixture.send(&maker, &first).await;
    let caterpillar_block = fixture.anvil.block_number().await;
    assert_eq!(at("legs", None).await.ok()["result"], "16");
    fixture.send(&address, &calldata("end()", &[])).await;
    let gone = fixture.anvil.block_number().await;
    fixture.send(&maker, &make(&fixture, &butterfly).await).await;
    let butterfly_block = fixture.anvil.block_number().await;

    for (function, block, expected) in [
        ("legs", Some(caterpillar_block), Ok("16")),
        ("wings", Some(caterpillar_block), Err((400, "legs()"))),
        ("wings", Some(butterfly_block), Ok("4")),
        ("wings", None, Ok("4")),
        ("legs", None, Err((400, "wings()"))),
        ("legs", Some(before), Err((404, "there is no contract at this address"))),
        ("wings", Some(gone), Err((404, "there is no contract at this address"))),
    ] {
        let answer = at(function, block).await;
        match expected {
            Ok(result) => assert_eq!(answer.ok()["result"], result, "{function} at {block:?}"),
            Err((status, expected_text)) => {
                assert_eq!(answer.status, status, "{function} at {block:?}: {}", answer.json);
                assert!(answer.json["detail"].as_str().unwrap().contains(expected_text), "{}", answer.json);
            }
        }
    }
    let path = format!("/api/v1/contracts/{address}/call?functionName=legs&blockNumber={caterpillar_block}");
    assert_eq!(fixture.explorer.json(&path).await["result"], "16", "in the URL alike");
}
