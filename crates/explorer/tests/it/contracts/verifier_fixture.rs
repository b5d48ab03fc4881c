use std::{
    collections::HashMap,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, LazyLock, Mutex},
    time::Instant,
};

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::support::{Anvil, Launch, TestExplorer, client::Answer, eventually, permits};

/// An anvil, and an explorer with compilers.
#[derive(Debug)]
pub(crate) struct VerifierFixture {
    pub(crate) anvil: Anvil,
    pub(crate) explorer: TestExplorer,
    pub(crate) from: String,
}

/// A contract and how it is compiled.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) version: &'static str,
    pub(crate) path: &'static str,
    pub(crate) source: String,
    pub(crate) contract: &'static str,
    pub(crate) settings: Value,
    /// Constructor arguments, in hexadecimal digits.
    pub(crate) arguments: String,
}

impl Case {
    /// [`COIN`] with the optimizer and the constructor argument 7.
    pub(crate) fn coin(version: &'static str) -> Self {
        Self {
            version,
            path: "contracts/Coin.sol",
            source: COIN.to_owned(),
            contract: "Coin",
            settings: json!({ "optimizer": { "enabled": true, "runs": 200 } }),
            arguments: word(7),
        }
    }
}

impl VerifierFixture {
    pub(crate) async fn start() -> Self {
        Self::launch(compilers(), &[]).await
    }

    /// With these arguments for the node.
    pub(crate) async fn with(arguments: &[&str]) -> Self {
        Self::launch(compilers(), arguments).await
    }

    /// With this limit of API requests per minute without a key.
    pub(crate) async fn with_request_limit(requests: u32) -> Self {
        let limit = requests.to_string();
        Self::launch_with(compilers(), &[], &[("--anonymous-requests-per-minute", &limit)]).await
    }

    /// With these options of the explorer.
    pub(crate) async fn with_options(options: &[(&str, &str)]) -> Self {
        Self::launch_with(compilers(), &[], options).await
    }

    /// With compilers from this folder.
    pub(crate) async fn start_with(compilers: PathBuf) -> Self {
        Self::launch(compilers, &[]).await
    }

    pub(crate) async fn launch(compilers: PathBuf, arguments: &[&str]) -> Self {
        Self::launch_with(compilers, arguments, &[]).await
    }

    /// Clients set their IP address with `X-Forwarded-For`, as behind a proxy.
    async fn launch_with(compilers: PathBuf, arguments: &[&str], options: &[(&str, &str)]) -> Self {
        permits::busy().await;
        let anvil = Anvil::with(&[&["--gas-limit", "100000000"], arguments].concat()).await;
        let mut launch = Launch::run(anvil.url())
            .argument("--compiler-source", compilers.display())
            .argument("--trusted-proxy", "127.0.0.1")
            .argument("--log", "info,verification=debug");
        for (name, value) in options {
            launch = launch.argument(name, value);
        }
        let explorer = launch.start().await;
        let from = anvil.accounts().await.remove(0);
        Self { anvil, explorer, from }
    }

    /// Waits until this many verifications were accepted since the start.
    pub(crate) async fn wait_for_queued(&self, verifications: usize) {
        eventually(&format!("{verifications} verifications"), async || {
            (self.explorer.log().matches("verification queued").count() >= verifications).then_some(())
        })
        .await;
    }

    /// Deploys code, waits until it is indexed, and returns its address.
    pub(crate) async fn deploy(&self, code: &str) -> String {
        let code = format!("0x{}", code.trim_start_matches("0x"));
        let receipt = self.anvil.send(json!({ "from": self.from, "data": code, "gas": "0xf00000" })).await;
        assert_eq!(receipt["status"], "0x1", "the contract is not deployed: {receipt}");
        self.anvil.wait_for(&self.explorer).await;
        receipt["contractAddress"].as_str().unwrap().to_lowercase()
    }

    pub(crate) async fn compile_and_deploy(&self, case: &Case) -> String {
        let code = compile_case(case).await;
        self.deploy(&format!("{code}{}", case.arguments)).await
    }

    /// Sends a transaction that must succeed, waits until it is indexed, and returns its hash.
    pub(crate) async fn send(&self, to: &str, data: &str) -> String {
        let receipt = self.anvil.send(json!({ "from": self.from, "to": to, "data": data, "gas": "0xf00000" })).await;
        assert_eq!(receipt["status"], "0x1", "{receipt}");
        self.anvil.wait_for(&self.explorer).await;
        receipt["transactionHash"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.explorer.client().get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        answer.text
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        let client = self.explorer.client();
        let request = client.request("POST", path).header("Content-Type", "application/json");
        client.send(request.body(body.to_string())).await
    }

    /// Posts as a client with this IP address.
    pub(crate) async fn post_from(&self, site: &str, path: &str, body: &Value) -> Answer {
        let client = self.explorer.client();
        let request = client.request("POST", path).header("Content-Type", "application/json");
        let request = request.header("X-Forwarded-For", site);
        client.send(request.body(body.to_string())).await
    }

    pub(crate) async fn verify(&self, address: &str, version: &str, source: &str) -> Value {
        let body = json!({ "address": address, "sourceCode": source, "compilerVersion": version });
        let started = Instant::now();
        let answer = self.post("/api/v1/verify", &body).await.ok();
        println!("{version}: {:.2} s: {}", started.elapsed().as_secs_f32(), answer["message"]);
        assert_eq!(answer["address"], address);
        answer
    }

    /// Verifies a small token, the only verified contract, and returns its address.
    pub(crate) async fn verified_coin(&self) -> String {
        let case = Case::coin("0.8.20");
        let address = self.compile_and_deploy(&case).await;
        self.verify(&address, case.version, &case.source).await;
        let [list, contract] = read_contracts(&self.explorer, &address).await;
        assert_eq!((&list["total"], &contract["match"]), (&json!(1), &json!("exact")), "{list} {contract}");
        address
    }

    pub(crate) async fn call(&self, address: &str, function: &str, arguments: Value) -> Answer {
        let body = json!({ "functionName": function, "args": arguments });
        self.post(&format!("/api/v1/contracts/{address}/call"), &body).await
    }

    /// The result of a call, which must succeed.
    pub(crate) async fn result(&self, address: &str, function: &str, arguments: Value) -> Value {
        let mut answer = self.call(address, function, arguments).await.ok();
        answer["result"].take()
    }
}

pub(crate) fn clients() -> PathBuf {
    PathBuf::from(std::env::var_os("EXPLORER_TEST_CLIENTS").unwrap_or_else(|| {
        panic!("this test needs compilers: run ./test, which gets them, or set EXPLORER_TEST_CLIENTS")
    }))
}

/// The folder of the compiler packages.
pub(crate) fn compilers() -> PathBuf {
    clients().join("node_modules")
}

async fn run_script(script: &str, arguments: &[&str], input: String) -> String {
    permits::busy().await;
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script);
    let mut command = Command::new("node");
    command.arg(script).args(arguments).env("EXPLORER_TEST_CLIENTS", clients());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let run = move || {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Outputs by version and inputs: many tests compile the same contract.
type Compiled = HashMap<(String, String), Arc<OnceCell<Vec<Value>>>>;
static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// Compiles with the package's own wrapper instead of product code, as an independent check.
pub(crate) async fn compile(version: &str, inputs: Vec<Value>) -> Vec<Value> {
    // Before the wait for the compiler of another test, which would never end if those that wait had all processors.
    permits::busy().await;
    let inputs = Value::from(inputs).to_string();
    let compiled = COMPILED.lock().unwrap().entry((version.to_owned(), inputs.clone())).or_default().clone();
    let outputs = compiled.get_or_init(async || {
        let printed = run_script("compile.mjs", &[version], inputs).await;
        serde_json::from_str(&printed).unwrap()
    });
    outputs.await.clone()
}

/// Flattens contracts of npm packages and their imports into one file.
pub(crate) async fn flatten(pragma: &str, paths: &[&str]) -> String {
    run_script("flatten.mjs", &[&[pragma], paths].concat(), String::new()).await
}

pub(crate) fn input(path: &str, source: &str, settings: &Value) -> Value {
    let mut settings = settings.clone();
    settings["outputSelection"] = json!({ "*": { "*": ["abi", "metadata", "evm.bytecode.object"] } });
    json!({ "language": "Solidity", "sources": { path: { "content": source } }, "settings": settings })
}

/// The creation code of one contract, in hexadecimal digits.
#[track_caller]
pub(crate) fn code_of(output: &Value, path: &str, contract: &str) -> String {
    let code = output["contracts"][path][contract]["evm"]["bytecode"]["object"].as_str();
    code.unwrap_or_else(|| panic!("no {contract} in {}", output["errors"])).to_owned()
}

pub(crate) async fn compile_case(case: &Case) -> String {
    let outputs = compile(short(case.version), vec![input(case.path, &case.source, &case.settings)]).await;
    code_of(&outputs[0], case.path, case.contract)
}

/// `0.8.20` of `v0.8.20+commit.a1b79de6`.
pub(crate) fn short(version: &str) -> &str {
    version.trim_start_matches('v').split('+').next().unwrap()
}

/// The data of a call: the selector of a signature, then words.
pub(crate) fn calldata(signature: &str, words: &[String]) -> String {
    format!("{}{}", &alloy_primitives::keccak256(signature).to_string()[..10], words.concat())
}

/// An address as an ABI word.
pub(crate) fn as_word(address: &str) -> String {
    format!("{:0>64}", address.trim_start_matches("0x"))
}

/// A number as an ABI word.
pub(crate) fn word(number: u64) -> String {
    format!("{number:064x}")
}

/// The source of a coin that compiles with every version from 0.4.22.
pub(crate) const COIN: &str = "pragma solidity >=0.4.22;

// A coin.
contract Owned {
    address public owner;
    constructor() public { owner = msg.sender; }
}

contract Coin is Owned {
    mapping(address => uint256) public balances;
    uint256 public total;
    event Minted(address to, uint256 amount);

    constructor(uint256 first) public {
        total = first;
        balances[msg.sender] = first;
    }

    function mint(address to, uint256 amount) public returns (bool) {
        require(msg.sender == owner, \"only the owner\");
        balances[to] += amount;
        total += amount;
        emit Minted(to, amount);
        return true;
    }

    function most(uint256[] memory amounts) public pure returns (uint256 best) {
        for (uint256 i = 0; i < amounts.length; i++) {
            if (amounts[i] > best) best = amounts[i];
        }
    }
}
";

/// The list of verified contracts, and one of them.
pub(crate) async fn read_contracts(explorer: &TestExplorer, address: &str) -> [Value; 2] {
    [explorer.json("/api/v1/contracts").await, explorer.json(&format!("/api/v1/contracts/{address}")).await]
}
