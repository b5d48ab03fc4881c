//! What is special in standard JSON input of the Vyper compiler.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value};

use super::{
    error::{MAX_FILES, SourcesError},
    files::{check_names, without_bom},
};

/// Part of the input beside the settings; kept with them.
pub(crate) const LAYOUT_OVERRIDES: &str = "storage_layout_overrides";

/// Whether a file can be compiled, and not only imported.
pub(crate) fn is_contract(name: &str) -> bool {
    has_extension(name, "vy")
}

/// Whether a file is the ABI of an interface.
pub(crate) fn is_abi(name: &str) -> bool {
    has_extension(name, "json")
}

fn has_extension(name: &str, wanted: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == wanted)
}

/// The name of the contract that a file defines.
pub(crate) fn contract_name(file: &str) -> String {
    Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Whether a text has the version pragma of Vyper: `# pragma version 0.4.0`, or `# @version 0.3.10`.
pub(super) fn has_pragma(text: &str) -> bool {
    text.lines().filter_map(|line| line.trim_start().strip_prefix('#')).any(|comment| {
        let comment = comment.trim_start();
        comment.starts_with("pragma version") || comment.starts_with("@version")
    })
}

/// The contract whose output is requested, if it is only one.
pub(super) fn target(settings: &Map<String, Value>, files: &BTreeMap<String, String>) -> Option<(String, String)> {
    let selection = settings.get("outputSelection")?.as_object()?;
    let mut named = selection.keys().filter(|file| files.contains_key(*file));
    match (named.next(), named.next()) {
        (Some(file), None) => Some((file.clone(), contract_name(file))),
        _ => None,
    }
}

/// Reads what stands beside sources and settings: interfaces, which become files, and overrides of the storage layout.
pub(super) fn read_more(
    object: &mut Map<String, Value>,
    files: &mut BTreeMap<String, String>,
    settings: &mut Map<String, Value>,
) -> Result<(), SourcesError> {
    if let Some(Value::Object(interfaces)) = object.remove("interfaces") {
        check_names(&interfaces)?;
        for (name, interface) in interfaces {
            let (name, content) = read_interface(name, &interface)?;
            files.entry(name).or_insert(content);
        }
        if files.len() > MAX_FILES {
            return Err(SourcesError::TooManyFiles);
        }
    }
    if let Some(overrides @ Value::Object(_)) = object.remove(LAYOUT_OVERRIDES) {
        settings.insert(LAYOUT_OVERRIDES.to_owned(), overrides);
    }
    Ok(())
}

/// The ABI of an interface is a file with the extension `json`.
fn read_interface(name: String, interface: &Value) -> Result<(String, String), SourcesError> {
    if let Some(content) = interface.get("content").and_then(Value::as_str) {
        return Ok((name, without_bom(content).to_owned()));
    }
    match interface.get("abi").unwrap_or(interface) {
        abi @ Value::Array(_) if is_abi(&name) => Ok((name, abi.to_string())),
        abi @ Value::Array(_) => Ok((format!("{name}.json"), abi.to_string())),
        _ => Err(SourcesError::NoInterface { name }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Sources;

    #[test]
    fn interfaces_and_overrides_are_kept() {
        let input = json!({
            "language": "Vyper",
            "sources": { "src/a.vy": { "content": "a" } },
            "interfaces": { "b.json": { "abi": [] }, "c.vy": { "content": "c" }, "d": [] },
            "storage_layout_overrides": { "src/a.vy": {} },
            "settings": { "evmVersion": "paris", "outputSelection": { "src/a.vy": ["*"] } },
        });
        let read = Sources::read(&input.to_string()).unwrap();
        let files: Vec<_> = read.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(files, [("b.json", "[]"), ("c.vy", "c"), ("d.json", "[]"), ("src/a.vy", "a")]);
        assert_eq!(read.target, Some(("src/a.vy".to_owned(), "a".to_owned())));
        let expected = json!({ "evmVersion": "paris", "storage_layout_overrides": { "src/a.vy": {} } });
        assert_eq!(Value::from(read.settings.unwrap()), expected);
        let broken =
            json!({ "language": "Vyper", "sources": { "a.vy": { "content": "a" } }, "interfaces": { "b": 1 } });
        let error = Sources::read(&broken.to_string()).unwrap_err();
        assert_eq!(error.to_string(), "has no content and no abi for the interface b");
    }

    #[test]
    fn the_pragma_tells_vyper_from_solidity() {
        for text in ["# @version 0.3.10\n", "#pragma version ^0.4.0", "\n# pragma version 0.4.3\nx: uint256"] {
            assert!(has_pragma(text), "{text}");
        }
        for text in ["pragma solidity ^0.8.0;", "// # pragma", "# a comment", ""] {
            assert!(!has_pragma(text), "{text}");
        }
    }
}
