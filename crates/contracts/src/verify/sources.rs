use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Files of one request at most, and characters of a name.
const MAX_FILES: usize = 2_000;
const MAX_NAME: usize = 512;
/// The name of a file that came without one.
const UNNAMED: &str = "contract.sol";

/// Source code in one of the forms in which people have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources {
    /// By name. Names are keys and nothing else: no file of any disk is meant.
    pub(super) files: BTreeMap<String, String>,
    /// The settings of standard JSON input.
    pub(super) settings: Option<Map<String, Value>>,
    unnamed: bool,
}

/// Why source code cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourcesError {
    #[error("is empty")]
    Empty,
    #[error("looks like JSON, but is not: {0}")]
    NotJson(String),
    #[error("is standard JSON input of another language than Solidity")]
    OtherLanguage,
    #[error("has a source without content; sources by urls are not fetched")]
    NoContent,
    #[error("has more than {MAX_FILES} files, or one with a name of more than {MAX_NAME} characters")]
    TooMany,
}

impl Sources {
    /// Reads a single file, several files as a JSON object, standard JSON input, or that in one more pair of braces.
    pub fn read(text: &str) -> Result<Self, SourcesError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(SourcesError::Empty);
        }
        let braced = trimmed.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        let json = match braced {
            Some(inner) => Some(format!("{{{inner}}}")),
            None => trimmed.starts_with('{').then(|| trimmed.to_owned()),
        };
        let Some(json) = json else {
            let files = BTreeMap::from([(UNNAMED.to_owned(), text.to_owned())]);
            return Ok(Self { files, settings: None, unnamed: true });
        };
        let object: Map<String, Value> =
            serde_json::from_str(&json).map_err(|error| SourcesError::NotJson(error.to_string()))?;
        if object.contains_key("language") || object.get("sources").is_some_and(Value::is_object) {
            return Self::from_standard(object);
        }
        Ok(Self { files: read_files(&object)?, settings: None, unnamed: false })
    }

    fn from_standard(mut object: Map<String, Value>) -> Result<Self, SourcesError> {
        if object.get("language").is_some_and(|language| language != "Solidity") {
            return Err(SourcesError::OtherLanguage);
        }
        let Some(Value::Object(sources)) = object.remove("sources") else { return Err(SourcesError::Empty) };
        let mut settings = match object.remove("settings") {
            Some(Value::Object(settings)) => settings,
            _ => Map::new(),
        };
        // What is asked of the compiler is ours to say; what changes the code stays.
        for ours in ["outputSelection", "modelChecker", "stopAfter", "compilationTarget"] {
            settings.remove(ours);
        }
        Ok(Self { files: read_files(&sources)?, settings: Some(settings), unnamed: false })
    }

    /// The content of the only file, where it came without a name.
    pub(super) fn single_file(&self) -> Option<&str> {
        if self.unnamed { self.files.values().next().map(String::as_str) } else { None }
    }
}

fn read_files(sources: &Map<String, Value>) -> Result<BTreeMap<String, String>, SourcesError> {
    if sources.is_empty() {
        return Err(SourcesError::Empty);
    }
    if sources.len() > MAX_FILES || sources.keys().any(|name| name.chars().count() > MAX_NAME) {
        return Err(SourcesError::TooMany);
    }
    let content = |(name, source): (&String, &Value)| match source.get("content") {
        Some(Value::String(content)) => Ok((name.clone(), content.clone())),
        _ => Err(SourcesError::NoContent),
    };
    sources.iter().map(content).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_told_by_its_looks() {
        let single = Sources::read("pragma solidity ^0.8.0;\ncontract A {}\n").unwrap();
        assert_eq!(single.single_file(), Some("pragma solidity ^0.8.0;\ncontract A {}\n"));

        let several = Sources::read(r#" {"A.sol":{"content":"a"},"../B.sol":{"content":"b"}} "#).unwrap();
        assert_eq!(several.files.keys().collect::<Vec<_>>(), ["../B.sol", "A.sol"]);
        assert!(several.single_file().is_none() && several.settings.is_none());

        let standard = r#"{"language":"Solidity","sources":{"A.sol":{"content":"a"}},"settings":{"viaIR":true,"outputSelection":{}}}"#;
        for text in [standard.to_owned(), format!("{{{standard}}}")] {
            let read = Sources::read(&text).unwrap();
            assert_eq!(read.files["A.sol"], "a");
            assert_eq!(Value::from(read.settings.unwrap()), serde_json::json!({ "viaIR": true }));
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let refused = |text: &str| Sources::read(text).unwrap_err();
        assert_eq!(refused(" \n"), SourcesError::Empty);
        assert_eq!(refused("{}"), SourcesError::Empty);
        assert!(matches!(refused("{ contract"), SourcesError::NotJson(_)));
        assert!(matches!(refused("{{}"), SourcesError::NotJson(_)));
        assert_eq!(refused(r#"{"language":"Vyper","sources":{}}"#), SourcesError::OtherLanguage);
        let urls = r#"{"language":"Solidity","sources":{"A.sol":{"urls":["file:///etc/passwd"]}}}"#;
        assert_eq!(refused(urls), SourcesError::NoContent);
        assert_eq!(refused(r#"{"A.sol":"text"}"#), SourcesError::NoContent);
    }
}
