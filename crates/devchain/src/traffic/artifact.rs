//! The compiled contracts, as written by `contracts/build`.

use alloy_primitives::Bytes;
use alloy_sol_types::{SolType, SolValue, abi::TokenSeq};
use serde::Deserialize;

macro_rules! contracts {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// A contract of the demo.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Contract { $($(#[$doc])* $name),* }

        impl Contract {
            pub const ALL: &[Contract] = &[$(Contract::$name),*];

            /// The artifact as JSON: contract name, source path, code, storage layout and metadata.
            pub fn artifact(self) -> &'static str {
                match self {
                    $(Contract::$name => include_str!(concat!(
                        "../../contracts/artifacts/", stringify!($name), ".json"
                    ))),*
                }
            }
        }
    };
}

contracts! {
    /// A standard fungible token with any number of decimals.
    PlainToken,
    /// A token whose name and symbol are bytes32.
    Bytes32Token,
    /// A token whose decimals() reverts.
    NoDecimalsToken,
    /// A token that transfers less than its Transfer event says.
    SilentFeeToken,
    /// The wrapped native coin; deposits emit no Transfer.
    WrappedCoin,
    Collectible,
    /// A collection whose pictures are drawn by its contract.
    PaperBoats,
    GameItems,
    V2Factory,
    V2Pair,
    V2Router,
    V3Factory,
    V3Pool,
    /// Emits Swap logs but is not a pool.
    LookAlikeSwap,
    /// Creates contracts inside a call.
    Nursery,
    /// Fails in every way a call can fail.
    Failing,
    Counter,
    Vault,
    /// Delegates to the implementation in its storage (EIP-1967).
    Proxy,
    /// Pays several accounts inside one call.
    Payroll,
}

#[derive(Deserialize)]
struct CreationCode {
    bytecode: Bytes,
}

impl Contract {
    /// The creation code without constructor arguments.
    #[expect(clippy::expect_used, reason = "the artifacts are part of the program")]
    pub fn creation_code(self) -> Bytes {
        serde_json::from_str::<CreationCode>(self.artifact())
            .expect("contracts/build writes the creation code of every artifact")
            .bytecode
    }

    /// The creation code followed by the ABI-encoded constructor arguments.
    pub fn creation_with<A>(self, arguments: &A) -> Bytes
    where
        A: SolValue,
        for<'a> <A::SolType as SolType>::Token<'a>: TokenSeq<'a>,
    {
        let mut code = self.creation_code().to_vec();
        code.extend(arguments.abi_encode_params());
        code.into()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        fs,
        path::{Path, PathBuf},
    };

    use alloy_primitives::{B256, keccak256};
    use serde_json::Value;

    use super::*;

    #[derive(Deserialize)]
    struct Manifest {
        compiler: Value,
        settings: Value,
        sources: BTreeMap<String, B256>,
        artifacts: BTreeMap<String, Built>,
    }

    #[derive(Deserialize)]
    struct Built {
        source: String,
        keccak256: B256,
    }

    fn contracts() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("contracts")
    }

    fn manifest() -> Manifest {
        let text = fs::read_to_string(contracts().join("artifacts/manifest.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// The hash of every source in a folder, by path relative to `root`.
    fn source_hashes(root: &Path, folder: &Path) -> BTreeMap<String, B256> {
        let mut hashes = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                hashes.extend(source_hashes(root, &path));
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                hashes.insert(name.to_owned(), keccak256(fs::read(&path).unwrap()));
            }
        }
        hashes
    }

    #[test]
    fn the_artifacts_match_the_sources() {
        let src = contracts().join("src");
        assert_eq!(manifest().sources, source_hashes(&src, &src), "a source changed: run contracts/build");
    }

    #[test]
    fn the_artifacts_match_the_compiler_settings() {
        let text = fs::read_to_string(contracts().join("compiler.json")).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let manifest = manifest();
        assert_eq!(manifest.settings, expected["settings"]);
        assert_eq!(manifest.compiler["version"], expected["version"]);
    }

    #[test]
    fn the_creation_code_matches_the_manifest() {
        let built = manifest().artifacts;
        assert_eq!(built.len(), Contract::ALL.len());
        for contract in Contract::ALL {
            let built = &built[&format!("{contract:?}")];
            assert_eq!(keccak256(contract.creation_code()), built.keccak256, "{contract:?}");
            let artifact: Value = serde_json::from_str(contract.artifact()).unwrap();
            assert_eq!(artifact["source"], built.source);
        }
    }
}
