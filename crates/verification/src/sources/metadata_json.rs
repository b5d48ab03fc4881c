//! The metadata.json of a contract, as written by solc and stored by Sourcify and other tools: the settings, and for every
//! source its content or hash.

use std::collections::BTreeMap;

use alloy_primitives::{B256, keccak256};
use serde_json::{Map, Value, json};

use super::{
    error::{MissingSource, SourcesError},
    files::{check_names, without_bom},
    variants::text_variants,
};

type Files = BTreeMap<String, String>;

/// The sources that a metadata.json describes.
pub(super) struct DescribedSources {
    pub(super) files: Files,
    pub(super) settings: Map<String, Value>,
    /// The contract that it belongs to, by file and name.
    pub(super) target: Option<(String, String)>,
}

/// Whether an object is a metadata.json. Standard JSON input has no `compiler`.
pub(super) fn is_metadata(object: &Map<String, Value>) -> bool {
    let has = |name: &str| object.get(name).is_some_and(Value::is_object);
    has("compiler") && has("settings") && has("sources")
}

/// Finds a metadata.json among files, at the top level or inside `files`, each a string, an object with `content`, or JSON;
/// returns it with the other files.
pub(super) fn find_beside_files(object: &Map<String, Value>) -> Option<(Map<String, Value>, Files)> {
    let within = object.get("files").and_then(Value::as_object).into_iter().flatten();
    let entries: Vec<(&String, &Value)> = object.iter().filter(|(name, _)| *name != "files").chain(within).collect();
    let metadata =
        entries.iter().filter(|(name, _)| name.ends_with(".json")).find_map(|(_, value)| as_metadata(value))?;
    let files = entries.into_iter().filter(|(name, _)| !name.ends_with(".json"));
    let files = files.filter_map(|(name, value)| Some((name.clone(), without_bom(text_of(value)?).to_owned())));
    Some((metadata, files.collect()))
}

fn as_metadata(value: &Value) -> Option<Map<String, Value>> {
    match (value, text_of(value)) {
        (Value::Object(object), None) => Some(object.clone()),
        (_, text) => serde_json::from_str(without_bom(text?)).ok(),
    }
    .filter(is_metadata)
}

fn text_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content")?.as_str())
}

/// Reads a metadata.json; the content of its sources is in it or in the other files.
pub(super) fn read(mut metadata: Map<String, Value>, others: &Files) -> Result<DescribedSources, SourcesError> {
    if metadata.get("language").is_some_and(|language| language != "Solidity") {
        return Err(SourcesError::NotSolidity);
    }
    let (Some(Value::Object(sources)), Some(Value::Object(mut settings))) =
        (metadata.remove("sources"), metadata.remove("settings"))
    else {
        return Err(SourcesError::Empty);
    };
    if sources.is_empty() {
        return Err(SourcesError::Empty);
    }
    check_names(&sources)?;
    let by_hash = index_by_hash(others);
    let (mut files, mut missing) = (Files::new(), Vec::new());
    for (path, source) in sources {
        let given = source.get("content").and_then(Value::as_str).or_else(|| others.get(&path).map(String::as_str));
        let hash = source.get("keccak256").and_then(Value::as_str).and_then(|text| text.parse::<B256>().ok());
        let content = match hash {
            None => given.map(str::to_owned),
            Some(hash) => given
                .and_then(|given| text_variants(given).into_iter().find(|text| keccak256(text) == hash))
                .or_else(|| by_hash.get(&hash).cloned()),
        };
        match content {
            Some(content) => {
                files.insert(path, content);
            }
            None => missing.push(MissingSource { path, keccak256: hash, sent: given.map(keccak256) }),
        }
    }
    if !missing.is_empty() {
        return Err(SourcesError::MissingSources(missing));
    }
    let target = match settings.remove("compilationTarget") {
        Some(Value::Object(target)) => {
            target.into_iter().next().and_then(|(file, name)| Some((file, name.as_str()?.to_owned())))
        }
        _ => None,
    };
    if let Some(Value::Object(libraries)) = settings.remove("libraries") {
        settings.insert("libraries".to_owned(), by_file(libraries, target.as_ref()));
    }
    Ok(DescribedSources { files, settings, target })
}

/// All line-ending variants of every file by hash, since file names differ between repositories and compilations.
fn index_by_hash(files: &Files) -> BTreeMap<B256, String> {
    files.values().flat_map(|text| text_variants(text)).map(|text| (keccak256(&text), text)).collect()
}

/// Metadata has libraries as `file:Name`, compiler input by file and then by name.
fn by_file(libraries: Map<String, Value>, target: Option<&(String, String)>) -> Value {
    let mut files: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (library, address) in libraries {
        let (file, name) = match library.rsplit_once(':') {
            Some((file, name)) => (file.to_owned(), name.to_owned()),
            None => (target.map(|(file, _)| file.clone()).unwrap_or_default(), library),
        };
        files.entry(file).or_default().insert(name, address);
    }
    json!(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sources;

    const SOURCE: &str = "contract A {}\n";

    fn metadata(source: Value) -> Value {
        json!({
            "compiler": { "version": "0.8.20+commit.a1b79de6" },
            "language": "Solidity",
            "output": { "abi": [] },
            "settings": {
                "compilationTarget": { "src/A.sol": "A" },
                "evmVersion": "paris",
                "libraries": { "src/L.sol:L": "0x1111111111111111111111111111111111111111" },
                "optimizer": { "enabled": true, "runs": 777 },
            },
            "sources": { "src/A.sol": source },
            "version": 1,
        })
    }

    fn hashed() -> Value {
        metadata(json!({ "keccak256": format!("{:#x}", keccak256(SOURCE)), "urls": ["dweb:/ipfs/Qm"] }))
    }

    #[test]
    fn settings_target_and_content_are_taken_from_metadata() {
        let literal = metadata(json!({ "content": SOURCE, "keccak256": format!("{:#x}", keccak256(SOURCE)) }));
        let read = Sources::read(&literal.to_string()).unwrap();
        assert_eq!(read.target, Some(("src/A.sol".to_owned(), "A".to_owned())));
        assert_eq!(read.files["src/A.sol"], SOURCE);
        let settings = read.settings.unwrap();
        assert_eq!(settings["optimizer"]["runs"], 777);
        assert_eq!(settings["libraries"]["src/L.sol"]["L"], "0x1111111111111111111111111111111111111111");
        assert!(!settings.contains_key("compilationTarget"));
    }

    #[test]
    fn sources_are_found_by_name_or_hash_with_any_line_endings() {
        let metadata = hashed();
        for form in [
            json!({ "metadata.json": metadata, "src/A.sol": { "content": SOURCE } }),
            json!({ "metadata.json": metadata.to_string(), "A.sol": SOURCE }),
            json!({ "files": { "out/metadata.json": { "content": metadata.to_string() }, "A.sol": SOURCE } }),
            json!({ "metadata.json": metadata, "files": { "A.sol": { "content": "contract A {}\r\n" } } }),
            json!({ "A_metadata.json": metadata, "other.sol": "contract B {}", "A.sol": "\u{feff}contract A {}" }),
        ] {
            let read = Sources::read(&form.to_string()).unwrap_or_else(|error| panic!("{form}: {error}"));
            assert_eq!(read.files, Files::from([("src/A.sol".to_owned(), SOURCE.to_owned())]), "{form}");
        }
    }

    #[test]
    fn missing_and_different_sources_are_named_with_their_hashes() {
        let (wanted, other) = (format!("{:#x}", keccak256(SOURCE)), format!("{:#x}", keccak256("contract B {}")));
        let alone = Sources::read(&hashed().to_string()).unwrap_err().to_string();
        assert!(alone.contains(&format!("Missing: src/A.sol (keccak256 {wanted})")), "{alone}");
        let form = json!({ "metadata.json": hashed(), "src/A.sol": { "content": "contract B {}" } });
        let changed = Sources::read(&form.to_string()).unwrap_err().to_string();
        assert!(changed.contains(&format!("(keccak256 {wanted}; the file sent has {other})")), "{changed}");
        let vyper = hashed().to_string().replace("Solidity", "Vyper");
        assert_eq!(Sources::read(&vyper).unwrap_err(), SourcesError::NotSolidity);
    }
}
