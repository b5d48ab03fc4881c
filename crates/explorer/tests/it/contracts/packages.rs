//! Widely used contracts, flattened from their packages.

use serde_json::json;

use super::verifier_fixture::{VerifierFixture, as_word, calldata, code_of, compile, flatten, input};

#[tokio::test]
async fn the_uniswap_factory_and_its_pair_are_verified() {
    let fixture = VerifierFixture::start().await;
    let source = flatten("=0.5.16", &["@uniswap/v2-core/contracts/UniswapV2Factory.sol"]).await;
    let settings = json!({ "optimizer": { "enabled": true, "runs": 999_999 }, "evmVersion": "istanbul" });
    let path = "contracts/UniswapV2Factory.sol";
    let output = compile("0.5.16", vec![input(path, &source, &settings)]).await.remove(0);
    let setter = as_word(&fixture.from);
    let factory = fixture.deploy(&format!("{}{setter}", code_of(&output, path, "UniswapV2Factory"))).await;
    let [one, other] = [format!("0x{:040x}", 0x11), format!("0x{:040x}", 0x22)];
    let data = calldata("createPair(address,address)", &[as_word(&one), as_word(&other)]);
    fixture.anvil.send(json!({ "from": fixture.from, "to": factory, "data": data, "gas": "0x800000" })).await;
    fixture.anvil.wait_for(&fixture.explorer).await;

    let answer = fixture.verify(&factory, "v0.5.16+commit.9c3226ce", &source).await;
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("exact"), &json!("exact")), "{answer}");
    let pair = fixture.result(&factory, "getPair", json!([one, other])).await;
    let pair = pair.as_str().unwrap();
    let answer = fixture.verify(pair, "v0.5.16+commit.9c3226ce", &source).await;
    assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("UniswapV2Pair")), "{answer}");
    assert_eq!(
        fixture.result(pair, "getReserves", json!([])).await,
        json!({ "_reserve0": "0", "_reserve1": "0", "_blockTimestampLast": "0" })
    );

    // The factory contains its own metadata and that of the pair.
    let changed = source.replace("// @uniswap", "// From @uniswap");
    let second = fixture.deploy(&format!("{}{setter}", code_of(&output, path, "UniswapV2Factory"))).await;
    let answer = fixture.verify(&second, "0.5.16", &changed).await;
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("partial"), &json!("partial")), "{answer}");
}

#[tokio::test]
async fn an_openzeppelin_token_is_verified() {
    let fixture = VerifierFixture::start().await;
    let base = flatten("^0.8.24", &["@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol"]).await;
    let source = format!(
        "{base}\ncontract Share is ERC20Votes {{\n  constructor() ERC20(\"Share\", \"SHR\") EIP712(\"Share\", \"1\") {{ _mint(msg.sender, 1e24); }}\n}}\n"
    );
    let settings = json!({ "optimizer": { "enabled": true, "runs": 1_000 } });
    let path = "src/Share.sol";
    let output = compile("0.8.37", vec![input(path, &source, &settings)]).await.remove(0);
    let token = fixture.deploy(&code_of(&output, path, "Share")).await;
    let answer = fixture.verify(&token, "0.8.37", &source).await;
    assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("Share")), "{answer}");
    assert_eq!(fixture.result(&token, "balanceOf", json!([fixture.from])).await, "1000000000000000000000000");
    let domain = fixture.result(&token, "eip712Domain", json!([])).await;
    assert_eq!((&domain["name"], &domain["verifyingContract"]), (&json!("Share"), &json!(token)));
    assert_eq!(domain["extensions"], json!([]));
}
