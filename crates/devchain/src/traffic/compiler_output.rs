//! What the compiler was given for the contracts and what it wrote, in its own formats.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Contract;

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("../../contracts/src/", $path)))),*]
    };
}

/// Every source, by its path.
pub const SOURCES: [(&str, &str); 24] = sources![
    "dex/LookAlikeSwap.sol",
    "dex/Root.sol",
    "dex/Tick.sol",
    "dex/V2Factory.sol",
    "dex/V2Pair.sol",
    "dex/V2Router.sol",
    "dex/V3Factory.sol",
    "dex/V3Pool.sol",
    "other/Counter.sol",
    "other/Failing.sol",
    "other/Nursery.sol",
    "other/Payroll.sol",
    "other/Proxy.sol",
    "other/Vault.sol",
    "token/Bep20.sol",
    "token/Bytes32Token.sol",
    "token/Collectible.sol",
    "token/GameItems.sol",
    "token/NoDecimalsToken.sol",
    "token/PaperBoats.sol",
    "token/Picture.sol",
    "token/PlainToken.sol",
    "token/SilentFeeToken.sol",
    "token/WrappedCoin.sol",
];

const COMPILER: &str = include_str!("../../contracts/compiler.json");
/// The version of the compiler.
pub const COMPILER_VERSION: &str = "0.8.37";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    contract: String,
    source: String,
    bytecode: String,
    runtime: String,
    immutables: Value,
    storage_layout: Value,
    metadata: String,
}

#[derive(Deserialize)]
struct Metadata {
    output: Described,
}

/// Parts of the output that are in the metadata, too.
#[derive(Deserialize)]
struct Described {
    abi: Value,
    userdoc: Value,
    devdoc: Value,
}

/// The settings that the contracts were compiled with.
#[expect(clippy::expect_used, reason = "the settings are part of the program")]
pub fn compiler_settings() -> Map<String, Value> {
    #[derive(Deserialize)]
    struct Compiler {
        settings: Map<String, Value>,
    }
    let mut compiler: Compiler = serde_json::from_str(COMPILER).expect("compiler.json has settings");
    compiler.settings.remove("outputSelection");
    compiler.settings
}

impl Contract {
    /// The output of the compiler for this contract, as for standard JSON input.
    #[expect(clippy::expect_used, reason = "the artifacts are part of the program")]
    pub fn compiler_output(self) -> String {
        let artifact: Artifact = serde_json::from_str(self.artifact()).expect("contracts/build writes all fields");
        let Described { abi, userdoc, devdoc } =
            serde_json::from_str::<Metadata>(&artifact.metadata).expect("the compiler writes its metadata").output;
        let code = |text: &str| text.trim_start_matches("0x").to_owned();
        let contract = json!({
            "abi": abi,
            "metadata": artifact.metadata,
            "userdoc": userdoc,
            "devdoc": devdoc,
            "storageLayout": artifact.storage_layout,
            "evm": {
                "bytecode": { "object": code(&artifact.bytecode) },
                "deployedBytecode": {
                    "object": code(&artifact.runtime),
                    "immutableReferences": artifact.immutables,
                },
            },
        });
        let contracts = BTreeMap::from([(artifact.source, BTreeMap::from([(artifact.contract, contract)]))]);
        json!({ "contracts": contracts }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn the_sources_are_those_that_were_compiled() {
        #[derive(Deserialize)]
        struct Manifest {
            sources: BTreeMap<String, String>,
        }
        let manifest: Manifest = serde_json::from_str(include_str!("../../contracts/artifacts/manifest.json")).unwrap();
        let sources = SOURCES.map(|(path, text)| (path.to_owned(), keccak256(text).to_string()));
        assert_eq!(BTreeMap::from(sources), manifest.sources);
    }

    #[test]
    fn the_output_has_the_code_of_the_artifact() {
        for contract in Contract::ALL {
            let output: Value = serde_json::from_str(&contract.compiler_output()).unwrap();
            let contracts = output["contracts"].as_object().unwrap().values().next().unwrap();
            let output = &contracts[format!("{contract:?}")];
            let code = output["evm"]["bytecode"]["object"].as_str().unwrap();
            assert_eq!(format!("0x{code}"), contract.creation_code().to_string());
            assert!(output["abi"].as_array().is_some_and(|abi| !abi.is_empty()), "{contract:?}");
        }
        assert_eq!(serde_json::from_str::<Value>(COMPILER).unwrap()["version"], COMPILER_VERSION);
        assert_eq!(Value::from(compiler_settings()), json!({ "optimizer": { "enabled": true, "runs": 200 } }));
    }
}
