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
        json!({
            "0": "0", "_reserve0": "0", "1": "0", "_reserve1": "0", "2": "0", "_blockTimestampLast": "0"
        })
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

/// 800 runs, and no hash of the metadata to find them by: only the length of the code guides the search.
#[tokio::test]
async fn a_contract_with_uniswap_v3_settings_is_verified() {
    let fixture = VerifierFixture::start().await;
    let libraries = ["SwapMath", "TickMath", "TickBitmap"];
    let paths = libraries.map(|name| format!("@uniswap/v3-core/contracts/libraries/{name}.sol"));
    let base = flatten("=0.7.6", &paths.each_ref().map(String::as_str)).await;
    let source = format!(
        "{base}
contract Steps {{
  using TickBitmap for mapping(int16 => uint256);
  mapping(int16 => uint256) public bitmap;
  function flip(int24 tick) external {{ bitmap.flipTick(tick, 1); }}
  function step(uint160 from, uint160 to, uint128 liquidity, int256 left, uint24 fee)
    external pure returns (uint160 next, uint256 given, uint256 got, uint256 paid)
  {{ return SwapMath.computeSwapStep(from, to, liquidity, left, fee); }}
  function tickAt(uint160 price) external pure returns (int24) {{ return TickMath.getTickAtSqrtRatio(price); }}
}}
"
    );
    let settings = json!({ "optimizer": { "enabled": true, "runs": 800 }, "metadata": { "bytecodeHash": "none" } });
    let path = "contracts/Steps.sol";
    let output = compile("0.7.6", vec![input(path, &source, &settings)]).await.remove(0);
    let steps = fixture.deploy(&code_of(&output, path, "Steps")).await;
    let answer = fixture.verify(&steps, "0.7.6", &source).await;
    assert_eq!((&answer["match"], &answer["contractName"]), (&json!("partial"), &json!("Steps")), "{answer}");
    let one = (1_u128 << 96).to_string();
    assert_eq!(fixture.result(&steps, "tickAt", json!([one])).await, "0");
}
