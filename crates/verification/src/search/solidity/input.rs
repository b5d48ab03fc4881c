//! Standard JSON input, built from sources and settings.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The outputs to request from the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outputs<'a> {
    /// The metadata of every contract; no code is generated.
    Metadata,
    /// All outputs of these contracts, by file and name.
    Code(&'a [(String, String)]),
    /// The outputs of one contract other than its code.
    Artifacts { file: &'a str, name: &'a str },
    /// All outputs of every contract.
    AllCode,
}

/// Older compilers ignore unknown outputs.
const ARTIFACTS: [&str; 3] = ["userdoc", "devdoc", "storageLayout"];

const CODE: [&str; 7] = [
    "abi",
    "metadata",
    "evm.bytecode.object",
    "evm.bytecode.linkReferences",
    "evm.deployedBytecode.object",
    "evm.deployedBytecode.linkReferences",
    "evm.deployedBytecode.immutableReferences",
];

pub(super) fn build(files: &BTreeMap<String, String>, settings: &Map<String, Value>, outputs: Outputs<'_>) -> String {
    let sources: Map<String, Value> =
        files.iter().map(|(name, content)| (name.clone(), json!({ "content": content }))).collect();
    let mut selection: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
    match outputs {
        Outputs::Metadata => {
            selection.entry("*").or_default().insert("*", json!(["abi", "metadata"]));
        }
        Outputs::AllCode => {
            selection.entry("*").or_default().insert("*", json!(CODE));
        }
        Outputs::Code(contracts) => {
            for (file, name) in contracts {
                selection.entry(file).or_default().insert(name, json!(CODE));
            }
        }
        Outputs::Artifacts { file, name } => {
            selection.entry(file).or_default().insert(name, json!(ARTIFACTS));
        }
    }
    let mut settings = settings.clone();
    settings.insert("outputSelection".to_owned(), json!(selection));
    json!({ "language": "Solidity", "sources": sources, "settings": settings }).to_string()
}

/// The same sources with a trailing space: only their hashes change.
pub(super) fn altered(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    files.iter().map(|(name, content)| (name.clone(), format!("{content} "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_requested_for_the_given_contracts_only() {
        let files = BTreeMap::from([("a.sol".to_owned(), "x".to_owned())]);
        let outputs = [("a.sol".to_owned(), "A".to_owned())];
        let input: Value = serde_json::from_str(&build(&files, &Map::new(), Outputs::Code(&outputs))).unwrap();
        assert_eq!(input["sources"]["a.sol"]["content"], "x");
        assert_eq!(input["settings"]["outputSelection"]["a.sol"]["A"][0], "abi");
    }
}
