//! Proxies of every kind, called through the ABI of their implementation.

use serde_json::{Value, json};

use super::verifier_fixture::{VerifierFixture, as_word, code_of, compile, input};

const PATH: &str = "contracts/Proxies.sol";
const SOURCE: &str = "pragma solidity ^0.8.20;
contract Target { function answer() external pure returns (uint256) { return 42; } function who() external view returns (address) { return address(this); } error Never(uint256 why); function never() external pure { revert Never(7); } }
contract Slotted {
    constructor(bytes32 slot, address target) { assembly { sstore(slot, target) } }
    function implementation() external view returns (address target) { assembly { target := sload(0) } }
    fallback() external payable { bytes32 s = 0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc; address t; assembly { t := sload(s) } _go(t); }
    function _go(address t) internal { assembly { calldatacopy(0, 0, calldatasize()) let ok := delegatecall(gas(), t, 0, calldatasize(), 0, 0) returndatacopy(0, 0, returndatasize()) if iszero(ok) { revert(0, returndatasize()) } return(0, returndatasize()) } }
}
contract Proxy {
    bytes32 immutable place;
    constructor(bytes32 slot, address target) { place = slot; assembly { sstore(slot, target) } }
    function proxyKind() external pure returns (string memory) { return \"own\"; }
    fallback() external payable { bytes32 s = place; assembly { let t := sload(s) calldatacopy(0, 0, calldatasize()) let ok := delegatecall(gas(), t, 0, calldatasize(), 0, 0) returndatacopy(0, 0, returndatasize()) if iszero(ok) { revert(0, returndatasize()) } return(0, returndatasize()) } }
}
contract Beacon { address public implementation; constructor(address target) { implementation = target; } }
contract BeaconProxy {
    constructor(address beacon) { assembly { sstore(0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50, beacon) } }
    fallback() external payable { address b; assembly { b := sload(0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50) } address t = Beacon(b).implementation(); assembly { calldatacopy(0, 0, calldatasize()) let ok := delegatecall(gas(), t, 0, calldatasize(), 0, 0) returndatacopy(0, 0, returndatasize()) if iszero(ok) { revert(0, returndatasize()) } return(0, returndatasize()) } }
}
contract SafeProxy {
    address internal singleton;
    constructor(address s) { singleton = s; }
    fallback() external payable { address t = singleton; if (msg.sig == 0xa619486e) { assembly { mstore(0, t) return(0, 32) } } assembly { calldatacopy(0, 0, calldatasize()) let ok := delegatecall(gas(), t, 0, calldatasize(), 0, 0) returndatacopy(0, 0, returndatasize()) if iszero(ok) { revert(0, returndatasize()) } return(0, returndatasize()) } }
}
";
const SLOTS: [(&str, &str); 3] = [
    ("eip1967", "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"),
    ("eip1822", "c5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7"),
    ("zeppelinos", "7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3"),
];

#[tokio::test]
async fn every_kind_of_proxy_is_called_through_its_implementation() {
    let fixture = VerifierFixture::start().await;
    let settings = json!({ "optimizer": { "enabled": true, "runs": 200 } });
    let output = compile("0.8.20", vec![input(PATH, SOURCE, &settings)]).await.remove(0);
    let code = |name: &str| code_of(&output, PATH, name);
    let target = fixture.deploy(&code("Target")).await;

    let mut proxies = Vec::new();
    for (kind, slot) in SLOTS {
        proxies.push((kind, fixture.deploy(&format!("{}{slot}{}", code("Proxy"), as_word(&target))).await));
    }
    let beacon = fixture.deploy(&format!("{}{}", code("Beacon"), as_word(&target))).await;
    proxies.push(("eip1967-beacon", fixture.deploy(&format!("{}{}", code("BeaconProxy"), as_word(&beacon))).await));
    proxies.push(("safe", fixture.deploy(&format!("{}{}", code("SafeProxy"), as_word(&target))).await));
    let minimal = format!("363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5bf3", &target[2..]);
    let minimal = fixture.deploy(&format!("3d602d80600a3d3981f3{minimal}")).await;
    // A minimal proxy of a proxy.
    let minimal_of_proxy = format!("363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5bf3", &proxies[0].1[2..]);

    for (kind, proxy) in &proxies {
        let answer = fixture.call(proxy, "answer", json!([])).await;
        assert_eq!((answer.status, &answer.json["code"]), (404, &json!("contract_not_verified")), "{kind}");
    }
    let version = "0.8.20+commit.a1b79de6";
    assert_eq!(fixture.verify(&target, version, SOURCE).await["contractName"], "Target");
    for (kind, proxy) in proxies.iter().chain([&("eip1167", minimal.clone())]) {
        assert_eq!(fixture.result(proxy, "answer", json!([])).await, "42", "{kind}");
        assert_eq!(
            fixture.result(proxy, "who", json!([])).await,
            *proxy,
            "the call runs in the state of the proxy: {kind}"
        );
        let reverted = fixture.call(proxy, "never", json!([])).await;
        assert_eq!((reverted.status, &reverted.json["detail"]), (422, &json!("the call reverted: Never(why: 7)")));
    }

    // With its own source verified too, a proxy has both ABIs, and names its implementation.
    let (_, first) = &proxies[0];
    assert_eq!(fixture.verify(first, version, SOURCE).await["contractName"], "Proxy");
    assert_eq!(fixture.result(first, "proxyKind", json!([])).await, "own");
    assert_eq!(fixture.result(first, "answer", json!([])).await, "42");
    let contract = fixture.explorer.json(&format!("/api/v1/contracts/{first}")).await;
    assert_eq!(contract["proxy"], json!({ "kind": "eip1967", "implementation": target }));
    let target = fixture.explorer.json(&format!("/api/v1/contracts/{target}")).await;
    assert_eq!(target["proxy"], Value::Null);
    let minimal_of_proxy = fixture.deploy(&format!("3d602d80600a3d3981f3{minimal_of_proxy}")).await;
    assert_eq!(fixture.call(&minimal_of_proxy, "proxyKind", json!([])).await.status, 200);
}
