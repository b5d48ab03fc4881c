//! Contract calls: every ABI type, overloads, reverts and errors.

use serde_json::json;

use super::verifier_fixture::{Case, VerifierFixture, calldata};

const VERSION: &str = "v0.8.20+commit.a1b79de6";
const SOURCE: &str = "pragma solidity ^0.8.20;
contract Types {
    enum Color { Red, Green }
    struct Point { int64 x; int64 y; }
    struct Mixed { string words; uint64 amount; Point[1] ends; }
    struct Line { Point[2] ends; string name; Color[] colors; }
    error Low(address who, uint256 needed);
    uint256 public stored = 5;

    function ints(int8 a, uint8 b, int256 c, uint256 d) external pure returns (int8, uint8, int256, uint256) { return (a, b, c, d); }
    function blobs(bytes1 a, bytes32 b, bytes calldata c, string calldata d) external pure returns (bytes1 first, bytes32, bytes memory third, string memory) { return (a, b, c, d); }
    function lists(uint256[] calldata a, uint8[2][] calldata b, string[] calldata c) external pure returns (uint256[] memory, uint8[2][] memory, string[] memory) { return (a, b, c); }
    function lines(Line[] calldata a) external pure returns (Line[] memory) { return a; }
    function flag(bool a, address b, Color c) external pure returns (bool, address, Color) { return (a, b, c); }
    function single(uint256 a) external pure returns (uint256) { return a; }
    function named(uint256 a) external pure returns (uint256 twice) { return 2 * a; }
    function ordered() external pure returns (uint256 zeta, bool alpha, int8, Mixed memory mid) { return (1, true, -3, Mixed(\"w\", 5, [Point(7, 8)])); }
    function mixed() external pure returns (Mixed memory only) { return Mixed(\"w\", 5, [Point(7, 8)]); }
    function sender() external view returns (address who) { return msg.sender; }
    function nothing() external pure {}
    function over(uint256 a) external pure returns (string memory) { a; return \"uint256\"; }
    function over(address a) external pure returns (string memory) { a; return \"address\"; }
    function over(uint256 a, uint256 b) external pure returns (string memory) { a; b; return \"two\"; }
    function set(uint256 a) external { stored = a; }
    function text() external pure { require(false, \"not today\"); }
    function bare() external pure { revert(); }
    function custom(address a) external pure { revert Low(a, 9); }
    function divide(uint256 a) external pure returns (uint256) { return 1 / a; }
    function burn() external view returns (uint256 n) { while (gasleft() > 0) { n++; } }
    function huge() external pure returns (bytes memory) { return new bytes(1_200_000); }
}
";

#[tokio::test]
async fn every_abi_type_is_encoded_and_decoded() {
    let fixture = VerifierFixture::start().await;
    let settings = json!({ "optimizer": { "enabled": true, "runs": 200 } });
    let case = Case {
        version: VERSION,
        path: "Types.sol",
        source: SOURCE.to_owned(),
        contract: "Types",
        settings,
        arguments: String::new(),
    };
    let address = fixture.compile_and_deploy(&case).await;
    assert_eq!(fixture.call(&address, "stored", json!([])).await.status, 404);
    assert_eq!(fixture.verify(&address, VERSION, SOURCE).await["match"], "exact");
    let result = async |function: &str, arguments| fixture.result(&address, function, arguments).await;

    let max = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    assert_eq!(
        result("ints", json!([-128, "255", "-5", max])).await,
        json!({ "0": "-128", "1": "255", "2": "-5", "3": max })
    );
    let word = format!("0x{}", "ab".repeat(32));
    assert_eq!(
        result("blobs", json!(["0x01", word, "0x", "h\u{e9}"])).await,
        json!({ "0": "0x01", "first": "0x01", "1": word, "2": "0x", "third": "0x", "3": "h\u{e9}" })
    );
    assert_eq!(
        result("lists", json!([[1, "2"], [[1, 2], ["0x3", 4]], []])).await,
        json!({ "0": ["1", "2"], "1": [["1", "2"], ["3", "4"]], "2": [] })
    );
    let line = json!({ "ends": [{ "x": -1, "y": 2 }, [3, 4]], "name": "a", "colors": [0, 1] });
    assert_eq!(
        result("lines", json!([[line]])).await,
        json!([{ "ends": [{ "x": "-1", "y": "2" }, { "x": "3", "y": "4" }], "name": "a", "colors": ["0", "1"] }])
    );
    assert_eq!(
        result("flag", json!([true, fixture.from.to_uppercase().replace("0X", "0x"), 1])).await,
        json!({ "0": true, "1": fixture.from, "2": "1" })
    );
    assert_eq!(result("single", json!([7])).await, "7");
    assert_eq!(result("named", json!([7])).await, "14", "one output is the value itself, named or not");
    assert_eq!(result("nothing", json!([])).await, json!(null));
    assert_eq!(result("over(address)", json!([fixture.from])).await, "address");
    assert_eq!(result("over", json!([1, 2])).await, "two");

    // Compared as text: members are in the order of the declaration.
    let mixed = r#"{"words":"w","amount":"5","ends":[{"x":"7","y":"8"}]}"#;
    for (function, expected) in [
        (
            "ordered",
            format!(r#"{{"result":{{"0":"1","zeta":"1","1":true,"alpha":true,"2":"-3","3":{mixed},"mid":{mixed}}}}}"#),
        ),
        ("mixed", format!(r#"{{"result":{mixed}}}"#)),
    ] {
        assert_eq!(fixture.call(&address, function, json!([])).await.text, expected);
        let path = format!("/api/v1/contracts/{address}/call?functionName={function}");
        assert_eq!(fixture.explorer.get(&path).await.text, expected);
    }

    // The sender defaults to the zero address.
    assert_eq!(result("sender", json!([])).await, "0x0000000000000000000000000000000000000000");
    let body = json!({ "functionName": "sender", "from": fixture.from.to_uppercase().replace("0X", "0x") });
    let call = format!("/api/v1/contracts/{address}/call");
    assert_eq!(fixture.post(&call, &body).await.ok()["result"], fixture.from);
    assert_eq!(
        fixture.explorer.json(&format!("{call}?functionName=sender&from={}", fixture.from)).await["result"],
        fixture.from
    );
    for wrong in [json!("0x12"), json!(5), json!("")] {
        let answer = fixture.post(&call, &json!({ "functionName": "sender", "from": wrong })).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("from")), "{}", answer.json);
    }

    // As GET, and at a past block.
    let path = format!("/api/v1/contracts/{address}/call?functionName=single&args=%5B{max}%5D");
    assert_eq!(fixture.explorer.json(&path).await["result"], max);
    let before = fixture.anvil.block_number().await;
    let data = calldata("set(uint256)", &[super::verifier_fixture::word(6)]);
    fixture.anvil.send(json!({ "from": fixture.from, "to": address, "data": data })).await;
    fixture.anvil.wait_for(&fixture.explorer).await;
    assert_eq!(result("stored", json!([])).await, "6");
    let path = format!("/api/v1/contracts/{address}/call?functionName=stored&blockNumber={before}");
    assert_eq!(fixture.explorer.json(&path).await["result"], "5");
    let path = format!("/api/v1/contracts/{address}/call?functionName=stored&blockNumber=999999");
    assert_eq!(fixture.explorer.get(&path).await.status, 404);

    for (function, arguments, status, field, expected_text) in [
        ("over", json!([1]), 400, "functionName", "over(address)"),
        ("nope", json!([]), 400, "functionName", "stored()"),
        ("set", json!([1]), 400, "functionName", "not a view or pure function"),
        ("single", json!([]), 400, "args", "takes 1 arguments, not 0"),
        ("single", json!(["x"]), 400, "args", "args[0] must be a whole number"),
        ("single", json!([1.5]), 400, "args", "args[0]"),
        ("flag", json!(["yes", fixture.from, 1]), 400, "args", "args[0] must be true or false"),
        ("flag", json!([1, fixture.from, 1]), 400, "args", "args[0] must be true or false"),
        ("lines", json!([[{ "name": "a" }]]), 400, "args", "args[0][0] must have the member ends"),
        ("text", json!([]), 422, "", "the call reverted: not today"),
        ("bare", json!([]), 422, "", "the call reverted: without a reason"),
        ("custom", json!([fixture.from]), 422, "", "needed: 9)"),
        ("divide", json!([0]), 422, "", "panic 0x12: division by zero"),
        ("flag", json!([true, fixture.from, 2]), 422, "", "reverted"),
        ("burn", json!([]), 422, "", "reverted"),
        ("huge", json!([]), 422, "", "returned more than"),
    ] {
        let answer = fixture.call(&address, function, arguments).await;
        assert_eq!(answer.status, status, "{function}: {}", answer.json);
        assert_eq!(answer.json["field"].as_str().unwrap_or_default(), field, "{function}: {}", answer.json);
        assert!(answer.json["detail"].as_str().unwrap().contains(expected_text), "{function}: {}", answer.json);
    }
}
