//! The contracts to verify.

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::packages::Packages;

const COIN: &str = include_str!("coin.sol");
const MAKER: &str = include_str!("maker.sol");
/// One JavaScript and two WebAssembly builds.
const COIN_VERSIONS: [&str; 3] = ["0.5.16", "0.8.20", "0.8.37"];
const NEWEST: &str = "0.8.37";

/// The state of the compiler's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Not started yet.
    Cold,
    Warm,
}

/// A contract, its settings, and the source that is sent.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) label: String,
    pub(super) version: String,
    /// By name, as in standard JSON input.
    pub(super) files: Value,
    pub(super) path: String,
    pub(super) contract: String,
    pub(super) settings: Value,
    pub(super) arguments: Vec<u8>,
    /// The source that is sent, without settings.
    pub(super) sent: String,
    pub(super) start: Start,
}

/// Every release of the compiler since the first with standard JSON input, except 0.4.12, which is missing in npm.
pub(super) fn releases() -> Vec<String> {
    let of = |minor: u32, from: u32, to: u32| (from..=to).map(move |patch| format!("0.{minor}.{patch}"));
    let all = of(4, 11, 26).chain(of(5, 0, 17)).chain(of(6, 0, 12)).chain(of(7, 0, 6)).chain(of(8, 0, 37));
    all.filter(|version| version != "0.4.12").collect()
}

fn optimizer(runs: u32) -> Value {
    json!({ "optimizer": { "enabled": true, "runs": runs } })
}

fn single(label: String, version: &str, path: &str, contract: &str, source: &str) -> Subject {
    Subject {
        label,
        version: version.to_owned(),
        files: json!({ path: { "content": source } }),
        path: path.to_owned(),
        contract: contract.to_owned(),
        settings: optimizer(200),
        arguments: Vec::new(),
        sent: source.to_owned(),
        start: Start::Cold,
    }
}

/// A coin with a cold and with a warm compiler.
pub(super) fn coins() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for version in COIN_VERSIONS {
        for (start, symbol, more) in [(Start::Cold, "COLD", ", start included"), (Start::Warm, "WARM", "")] {
            // A different source each time, so that the code is not verified yet.
            let source = COIN.replace("COIN", symbol);
            let subject = single(format!("{version}{more}"), version, "Coin.sol", "Coin", &source);
            subjects.push(Subject { arguments: word(1_000_000), start, ..subject });
        }
    }
    subjects
}

/// The same source with every release: a library function creates a contract, which fails in compilers up to 0.8.3 unless
/// the code of all contracts is requested.
pub(super) fn makers() -> Vec<Subject> {
    let maker = |version: String| single(version.clone(), &version, "contracts/Maker.sol", "Maker", MAKER);
    releases().into_iter().map(maker).collect()
}

/// Ten contracts from packages, sent as several files.
pub(super) async fn published(packages: &Packages) -> anyhow::Result<Vec<Subject>> {
    const OPENZEPPELIN: &str = "@openzeppelin/contracts";
    const UNISWAP_V3: &str = "@uniswap/v3-core/contracts/libraries";
    let wrapper_of = |package: &str, name: &str, imports: &[&str], body: &str| {
        let imports: String = imports.iter().map(|path| format!("import \"{package}/{path}.sol\";\n")).collect();
        let path = format!("src/{name}.sol");
        let source = format!("// SPDX-License-Identifier: GPL-3.0\npragma solidity >=0.7.6;\n{imports}{body}\n");
        (path.clone(), name.to_owned(), json!({ path: { "content": source } }))
    };
    let wrapper = |name: &str, imports: &[&str], body: &str| wrapper_of(OPENZEPPELIN, name, imports, body);
    let own = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".sol").to_owned();
        (path.to_owned(), name, json!({ path: null }))
    };
    let shares = wrapper(
        "Share",
        &["token/ERC20/extensions/ERC20Votes", "token/ERC20/extensions/ERC20Permit"],
        "contract Share is ERC20Permit, ERC20Votes {\n  constructor() ERC20(\"Share\", \"SHR\") ERC20Permit(\"Share\") { _mint(msg.sender, 1e24); }\n  function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) { super._update(from, to, value); }\n  function nonces(address owner) public view override(ERC20Permit, Nonces) returns (uint256) { return super.nonces(owner); }\n}",
    );
    let badges = wrapper(
        "Badge",
        &["token/ERC721/extensions/ERC721URIStorage", "access/Ownable"],
        "contract Badge is ERC721URIStorage, Ownable {\n  constructor() ERC721(\"Badge\", \"BDG\") Ownable(msg.sender) {}\n  function award(address to, uint256 id, string calldata uri) external onlyOwner { _mint(to, id); _setTokenURI(id, uri); }\n}",
    );
    let items = wrapper(
        "Items",
        &["token/ERC1155/extensions/ERC1155Supply"],
        "contract Items is ERC1155Supply {\n  constructor() ERC1155(\"ipfs://items\") {}\n  function make(uint256 id, uint256 amount) external { _mint(msg.sender, id, amount, \"\"); }\n}",
    );
    // The package of v3 contains its libraries, but not its factory and pool.
    let steps = wrapper_of(
        UNISWAP_V3,
        "Steps",
        &["SwapMath", "TickMath", "TickBitmap", "Oracle"],
        "contract Steps {\n  using TickBitmap for mapping(int16 => uint256);\n  mapping(int16 => uint256) public bitmap;\n  function flip(int24 tick) external { bitmap.flipTick(tick, 1); }\n  function step(uint160 from, uint160 to, uint128 liquidity, int256 left, uint24 fee) external pure returns (uint160 next, uint256 given, uint256 got, uint256 paid) { return SwapMath.computeSwapStep(from, to, liquidity, left, fee); }\n  function priceAt(int24 tick) external pure returns (uint160) { return TickMath.getSqrtRatioAtTick(tick); }\n  function tickAt(uint160 price) external pure returns (int24) { return TickMath.getTickAtSqrtRatio(price); }\n}",
    );
    let v2 = |name: &str| own(&format!("@uniswap/v2-core/contracts/{name}.sol"));
    let mut uniswap_v2 = optimizer(999_999);
    uniswap_v2["evmVersion"] = "istanbul".into();
    let mut uniswap_v3 = optimizer(800);
    uniswap_v3["metadata"] = json!({ "bytecodeHash": "none" });
    let timelock = [word(1), word(0x80), word(0xa0), word(0), word(0), word(0)].concat();
    let forwarder = [word(0x20), word(1), [b"F".as_slice(), &[0; 31]].concat()].concat();
    let vesting = [word(7), word(1), word(1_000)].concat();
    let mut subjects = Vec::new();
    for (version, (path, contract, files), settings, arguments) in [
        (NEWEST, shares, optimizer(200), Vec::new()),
        (NEWEST, badges, optimizer(1_000), Vec::new()),
        (NEWEST, items, optimizer(777), Vec::new()),
        (NEWEST, own(&format!("{OPENZEPPELIN}/metatx/ERC2771Forwarder.sol")), optimizer(200), forwarder),
        (NEWEST, own(&format!("{OPENZEPPELIN}/governance/TimelockController.sol")), optimizer(10_000), timelock),
        (NEWEST, own(&format!("{OPENZEPPELIN}/access/manager/AccessManager.sol")), optimizer(1), word(7)),
        (NEWEST, own(&format!("{OPENZEPPELIN}/finance/VestingWallet.sol")), json!({}), vesting),
        ("0.5.16", v2("UniswapV2Factory"), uniswap_v2.clone(), word(7)),
        ("0.5.16", v2("UniswapV2Pair"), uniswap_v2, Vec::new()),
        ("0.7.6", steps, uniswap_v3, Vec::new()),
    ] {
        let files = packages.gather(&files).await?;
        subjects.push(Subject {
            label: format!("{contract}, {version}"),
            version: version.to_owned(),
            sent: files.to_string(),
            files,
            path,
            contract,
            settings,
            arguments,
            start: Start::Cold,
        });
    }
    Ok(subjects)
}

/// A number as an ABI word.
fn word(number: u64) -> Vec<u8> {
    U256::from(number).to_be_bytes::<32>().to_vec()
}
