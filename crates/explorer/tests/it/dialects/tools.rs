//! The clients themselves: forge, cast, Hardhat 3 and 2, ethers and viem, against an explorer with the default limits.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::compiler_site::CompilerSite;
use crate::{
    contracts::verifier_fixture::{clients, compilers, word},
    support::{Anvil, Launch, TestExplorer, anvil::binary, process::output, wallet_clients::run_client},
};

const SOURCE: &str = "// SPDX-License-Identifier: MIT
pragma solidity 0.8.20;

contract Coin {
    uint256 public total;

    constructor(uint256 first) {
        total = first;
    }

    function add(uint256 amount) public returns (uint256) {
        total += amount;
        return total;
    }
}
";

/// A chain that no tool knows. Hardhat refuses the chain ids of dev chains.
async fn chain() -> Anvil {
    Anvil::with(&["--chain-id", "4242"]).await
}

/// An explorer with the default limits for clients without a key.
async fn explorer(anvil: &Anvil) -> TestExplorer {
    let launch = Launch::run(anvil.url()).argument("--compiler-source", compilers().display());
    let explorer = launch.variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 10).start().await;
    anvil.wait_for(&explorer).await;
    explorer
}

/// A project of a tool, in a folder of its own that is also its home.
struct Project {
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Project {
    fn new(sources: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(sources)).unwrap();
        std::fs::write(folder.path().join(sources).join("Coin.sol"), SOURCE).unwrap();
        Self { folder, variables: vec![("EXPLORER_TEST_CLIENTS", clients().display().to_string())] }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path().join(name)).unwrap()).unwrap()
    }

    async fn run(&self, program: PathBuf, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path()).env("HOME", self.path()).env("NO_COLOR", "1");
        for folder in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
            command.env(folder, self.path());
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        output(command).await
    }

    /// The output of a command that must succeed.
    async fn succeed(&self, program: PathBuf, arguments: &[&str]) -> String {
        let output = self.run(program, arguments).await;
        let text = both(&output);
        assert!(output.status.success(), "{arguments:?}: {text}");
        text
    }
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

async fn deploy(anvil: &Anvil, code: &str) -> String {
    let from = anvil.accounts().await.remove(0);
    let code = format!("0x{}{}", code.trim_start_matches("0x"), word(7));
    let receipt = anvil.send(json!({ "from": from, "data": code, "gas": "0xf00000" })).await;
    assert_eq!(receipt["status"], "0x1", "{receipt}");
    receipt["contractAddress"].as_str().unwrap().to_lowercase()
}

async fn is_verified(explorer: &TestExplorer, address: &str) -> Value {
    let contract = explorer.json(&format!("/api/v1/contracts/{address}")).await;
    assert_eq!((&contract["name"], &contract["match"]), (&json!("Coin"), &json!("exact")), "{contract}");
    assert_eq!(contract["creationMatch"], "exact", "{contract}");
    assert_eq!(contract["constructorArguments"], format!("0x{}", word(7)));
    contract
}

const FOUNDRY: &str = "[profile.default]
solc_version = \"0.8.20\"
evm_version = \"paris\"
optimizer = true
optimizer_runs = 200
";

struct Forge {
    project: Project,
    _site: CompilerSite,
    address: String,
}

impl Forge {
    async fn build(anvil: &Anvil) -> Self {
        let mut project = Project::new("src");
        project.write("foundry.toml", FOUNDRY);
        let site = CompilerSite::start().await;
        project.variables.extend([
            ("HTTPS_PROXY", site.proxy.clone()),
            ("NO_PROXY", "127.0.0.1".to_owned()),
            ("SSL_CERT_FILE", site.authority.path().display().to_string()),
        ]);
        project.succeed(forge(), &["build"]).await;
        let code = project.json("out/Coin.sol/Coin.json")["bytecode"]["object"].as_str().unwrap().to_owned();
        let address = deploy(anvil, &code).await;
        Self { project, _site: site, address }
    }

    /// `forge verify-contract` with a verifier at this URL.
    async fn verify(&mut self, verifier: &str, url: &str, more: &[&str]) -> Output {
        // The verifier for Etherscan needs an entry for the chain, with which forge would not use any other.
        let entry = format!("[etherscan]\nlive = {{ key = \"placeholder\", chain = 4242, url = \"{url}\" }}\n");
        self.project.write("foundry.toml", &format!("{FOUNDRY}{}", if verifier == "etherscan" { &entry } else { "" }));
        let address = self.address.clone();
        let arguments = ["verify-contract", "--chain", "4242", "--verifier", verifier, "--verifier-url", url];
        let patient = ["--watch", "--retries", "40", "--delay", "1"];
        let arguments = [&arguments, more, &patient, &[&address, "src/Coin.sol:Coin"]].concat();
        self.project.run(forge(), &arguments).await
    }
}

fn forge() -> PathBuf {
    binary("forge", "FORGE_BIN")
}

#[tokio::test]
async fn forge_verifies_with_every_verifier_and_cast_reads_the_source() {
    let anvil = chain().await;
    let mut project = Forge::build(&anvil).await;
    for verifier in ["etherscan", "blockscout", "custom", "sourcify"] {
        let explorer = explorer(&anvil).await;
        let base = explorer.client().url("");
        let url = if verifier == "sourcify" { format!("{base}/sourcify/") } else { format!("{base}/api") };
        let arguments = word(7);
        let more: &[&str] = match verifier {
            "etherscan" => &["--etherscan-api-key", "placeholder", "--constructor-args", &arguments],
            "custom" => &["--guess-constructor-args", "--rpc-url", anvil.url()],
            _ => &["--constructor-args", &arguments],
        };
        let output = project.verify(verifier, &url, more).await;
        let text = both(&output);
        assert!(output.status.success(), "{verifier}: {text}");
        is_verified(&explorer, &project.address).await;
        println!("{verifier}: {text}");
        if verifier != "sourcify" {
            assert!(text.contains("Pass - Verified"), "{verifier}: {text}");
            assert!(text.to_lowercase().contains(&format!("{base}/address/{}", project.address)), "{verifier}: {text}");
        }

        // Verified before: it says so.
        let again = project.verify(verifier, &url, more).await;
        assert!(again.status.success() && both(&again).contains("already verified"), "{verifier}: {}", both(&again));

        let address = project.address.clone();
        let arguments = [
            "source",
            "--chain",
            "4242",
            "--etherscan-api-key",
            "x",
            "--explorer-api-url",
            &format!("{base}/api"),
            "--explorer-url",
            &base,
            &address,
        ];
        let source = project.project.succeed(binary("cast", "CAST_BIN"), &arguments).await;
        assert!(source.contains("function add(uint256 amount)"), "{source}");
    }
}

#[tokio::test]
async fn forge_reports_why_a_wrong_source_is_refused() {
    let anvil = chain().await;
    let mut project = Forge::build(&anvil).await;
    let explorer = explorer(&anvil).await;
    project.project.write("src/Coin.sol", &SOURCE.replace("total += amount", "total += amount + 1"));
    let url = explorer.client().url("/api");
    let refused = project.verify("custom", &url, &["--constructor-args", &word(7)]).await;
    let text = both(&refused);
    assert!(!refused.status.success(), "{text}");
    assert!(text.contains("Fail - Unable to verify. No contract of the source compiles to the code"), "{text}");
    assert_eq!(explorer.get(&format!("/api/v1/contracts/{}", project.address)).await.status, 404);
}

/// Hardhat 3 needs Node.js 22: the one in the path, or the one that ./test gets.
fn recent_node(installed: &Path) -> PathBuf {
    let version = Command::new("node").arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version).trim_start_matches('v').to_owned();
    if version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major > 22) {
        return "node".into();
    }
    let packages = std::fs::read_dir(installed).unwrap().map(|entry| entry.unwrap().path());
    let mut programs = packages
        .filter(|package| package.file_name().unwrap().to_string_lossy().starts_with("node-"))
        .map(|package| package.join("bin/node"));
    programs.find(|program| program.is_file()).unwrap_or_else(|| panic!("no Node.js in {}", installed.display()))
}

#[tokio::test]
async fn hardhat_3_verifies_with_every_provider() {
    let anvil = chain().await;
    let installed = clients().join("hardhat3/node_modules");
    let mut project = Project::new("contracts");
    project.write("package.json", r#"{ "type": "module" }"#);
    let config = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/hardhat3/hardhat.config.mjs");
    project.write("hardhat.config.js", &std::fs::read_to_string(config).unwrap());
    std::os::unix::fs::symlink(&installed, project.path().join("node_modules")).unwrap();
    project.variables.extend([
        ("CHAIN_RPC", anvil.url().to_owned()),
        ("EXPLORER_URL", "http://127.0.0.1:1".to_owned()),
        ("SOLJSON", compilers().join("solc-0.8.20/soljson.js").display().to_string()),
        ("HARDHAT_DISABLE_TELEMETRY_PROMPT", "true".to_owned()),
    ]);
    let hardhat = installed.join("hardhat/dist/src/cli.js").display().to_string();
    let node = recent_node(&installed);
    project.succeed(node.clone(), &[&hardhat, "build"]).await;
    let code = project.json("artifacts/contracts/Coin.sol/Coin.json")["bytecode"].as_str().unwrap().to_owned();
    let address = deploy(&anvil, &code).await;
    for provider in ["etherscan", "blockscout", "sourcify"] {
        let explorer = explorer(&anvil).await;
        let base = explorer.client().url("");
        project.variables.push(("EXPLORER_URL", base.clone()));
        let arguments = [&hardhat, "verify", provider, "--network", "live", &address, "7"];
        let text = project.succeed(node.clone(), &arguments).await;
        println!("{provider}: {text}");
        is_verified(&explorer, &address).await;
        let again = both(&project.run(node.clone(), &arguments).await);
        assert!(again.contains("already been verified"), "{provider}: {again}");
    }
}

#[tokio::test]
async fn hardhat_2_verifies() {
    let anvil = chain().await;
    let explorer = explorer(&anvil).await;
    let installed = compilers();
    let mut project = Project::new("contracts");
    let config = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/hardhat2.config.cjs");
    project.write("hardhat.config.cjs", &std::fs::read_to_string(config).unwrap());
    project.write("package.json", "{}");
    std::os::unix::fs::symlink(&installed, project.path().join("node_modules")).unwrap();
    project.variables.extend([
        ("CHAIN_RPC", anvil.url().to_owned()),
        ("EXPLORER_URL", explorer.client().url("")),
        ("SOLJSON", installed.join("solc-0.8.20/soljson.js").display().to_string()),
        ("HARDHAT_DISABLE_TELEMETRY_PROMPT", "true".to_owned()),
    ]);
    let hardhat = installed.join("hardhat/internal/cli/bootstrap.js").display().to_string();
    project.succeed("node".into(), &[&hardhat, "compile"]).await;
    let code = project.json("artifacts/contracts/Coin.sol/Coin.json")["bytecode"].as_str().unwrap().to_owned();
    let address = deploy(&anvil, &code).await;
    anvil.wait_for(&explorer).await;
    let arguments = [&hardhat, "verify", "--network", "live", &address, "7"];
    let text = project.succeed("node".into(), &arguments).await;
    assert!(text.contains("Successfully verified contract") && text.contains("#code"), "{text}");
    is_verified(&explorer, &address).await;
    let again = project.succeed("node".into(), &arguments).await;
    assert!(again.contains("already been verified"), "{again}");
}

/// The provider of ethers knows a fixed list of chains.
const ETHERS_CHAIN: &str = "11155111";

#[tokio::test]
async fn ethers_and_viem_read_through_etherscans_api() {
    let fixture = crate::contracts::verifier_fixture::VerifierFixture::with(&["--chain-id", ETHERS_CHAIN]).await;
    let case = super::coin();
    let address = fixture.compile_and_deploy(&case).await;
    assert_eq!(fixture.verify(&address, case.version, &case.source).await["match"], "exact");
    let transactions = fixture.explorer.json(&format!("/api/v1/transactions?address={}", fixture.from)).await;
    let hash = transactions["transactions"][0]["hash"].as_str().unwrap();
    let base = fixture.explorer.client().url("");
    let read = run_client("read_etherscan.mjs", &[&base, ETHERS_CHAIN, &address, &fixture.from, hash]).await;
    let balance: alloy_primitives::U256 = fixture
        .anvil
        .rpc
        .call("eth_getBalance", json!([fixture.from, "latest"]))
        .await
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let block = fixture.anvil.block_number().await;
    for (library, succeeded) in [("ethers", json!(1)), ("viem", json!("success"))] {
        let read = &read[library];
        assert_eq!((&read["block"], &read["total"]), (&json!(block), &json!("7")), "{library}: {read}");
        assert_eq!((&read["balance"], &read["status"]), (&json!(balance.to_string()), &succeeded), "{library}: {read}");
    }
    assert_eq!(read["ethers"]["transaction"], hash);
}
