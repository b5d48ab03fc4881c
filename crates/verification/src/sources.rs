//! Parses source code in all supported formats.

mod error;
mod files;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod metadata_json;
mod variants;
mod vyper;

use std::collections::BTreeMap;

use domain::Language;
pub use error::{MissingSource, SourcesError};
use files::{check_names, without_bom};
use metadata_json::DescribedSources;
use serde_json::{Map, Value};
pub(crate) use variants::variants;
pub(crate) use vyper::{LAYOUT_OVERRIDES, contract_name, is_abi, is_contract};

use crate::{CompilerVersion, VersionError};

/// The name of a single file without one.
const UNNAMED: &str = "contract.sol";

/// The source code of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources {
    /// By name. Names are only keys, never paths on a disk.
    pub(crate) files: BTreeMap<String, String>,
    /// The settings of standard JSON input or of a metadata.json.
    pub(crate) settings: Option<Map<String, Value>>,
    /// The contract that a metadata.json belongs to, or whose output is requested, by file and name.
    pub(crate) target: Option<(String, String)>,
    /// As far as the format says.
    language: Option<Language>,
    unnamed: bool,
}

impl Sources {
    /// Parses a single file, several files as a JSON object, standard JSON input (also in double braces), or a metadata.json with
    /// its sources inside or next to it.
    pub fn read(text: &str) -> Result<Self, SourcesError> {
        let text = without_bom(text);
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
            return Ok(Self { files, settings: None, target: None, language: None, unnamed: true });
        };
        let object: Map<String, Value> =
            serde_json::from_str(&json).map_err(|error| SourcesError::NotJson(error.to_string()))?;
        if metadata_json::is_metadata(&object) {
            return Ok(Self::from_metadata(metadata_json::read(object, &BTreeMap::new())?));
        }
        if object.contains_key("language") || object.get("sources").is_some_and(Value::is_object) {
            return Self::from_standard(object);
        }
        if let Some((metadata, files)) = metadata_json::find_beside_files(&object) {
            return Ok(Self::from_metadata(metadata_json::read(metadata, &files)?));
        }
        match object.get("files") {
            Some(Value::Object(files)) if !files.contains_key("content") => Ok(Self::from_files(read_files(files)?)),
            _ => Ok(Self::from_files(read_files(&object)?)),
        }
    }

    /// The version of the compiler that a request names for these sources: its language is that of the sources.
    pub fn compiler(&self, version: &str) -> Result<CompilerVersion, VersionError> {
        match self.language() {
            Some(language) => CompilerVersion::parse(version, language),
            None => version.parse(),
        }
    }

    /// None for files that do not tell.
    fn language(&self) -> Option<Language> {
        let is_vyper = || match self.single_file() {
            Some(text) => vyper::has_pragma(text),
            None => self.files.keys().any(|name| vyper::is_contract(name)),
        };
        self.language.or_else(|| is_vyper().then_some(Language::Vyper))
    }

    fn from_files(files: BTreeMap<String, String>) -> Self {
        Self { files, settings: None, target: None, language: None, unnamed: false }
    }

    fn from_metadata(described: DescribedSources) -> Self {
        let DescribedSources { files, settings, target } = described;
        Self { settings: Some(settings), target, language: Some(Language::Solidity), ..Self::from_files(files) }
    }

    fn from_standard(mut object: Map<String, Value>) -> Result<Self, SourcesError> {
        let language = match object.get("language").map(Value::as_str) {
            None => None,
            Some(Some("Solidity")) => Some(Language::Solidity),
            Some(Some("Vyper")) => Some(Language::Vyper),
            Some(_) => return Err(SourcesError::OtherLanguage),
        };
        let Some(Value::Object(sources)) = object.remove("sources") else { return Err(SourcesError::Empty) };
        let mut settings = match object.remove("settings") {
            Some(Value::Object(settings)) => settings,
            _ => Map::new(),
        };
        let (mut files, mut target) = (read_files(&sources)?, None);
        if language == Some(Language::Vyper) {
            target = vyper::target(&settings, &files);
            vyper::read_more(&mut object, &mut files, &mut settings)?;
        }
        // The verifier chooses the outputs; settings that affect the code are kept.
        for unused in ["outputSelection", "modelChecker", "stopAfter", "compilationTarget"] {
            settings.remove(unused);
        }
        Ok(Self { settings: Some(settings), target, language, ..Self::from_files(files) })
    }

    /// The content of a single file without a name.
    pub(crate) fn single_file(&self) -> Option<&str> {
        if self.unnamed { self.files.values().next().map(String::as_str) } else { None }
    }
}

fn read_files(sources: &Map<String, Value>) -> Result<BTreeMap<String, String>, SourcesError> {
    if sources.is_empty() {
        return Err(SourcesError::Empty);
    }
    check_names(sources)?;
    let content = |(name, source): (&String, &Value)| match source.get("content") {
        Some(Value::String(content)) => Ok((name.clone(), without_bom(content).to_owned())),
        _ => Err(SourcesError::NoContent { name: name.clone() }),
    };
    sources.iter().map(content).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_recognised() {
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
    fn invalid_sources_give_a_reason() {
        let refused = |text: &str| Sources::read(text).unwrap_err();
        assert_eq!(refused(" \n"), SourcesError::Empty);
        assert_eq!(refused("{}"), SourcesError::Empty);
        assert!(matches!(refused("{ contract"), SourcesError::NotJson(_)));
        assert!(matches!(refused("{{}"), SourcesError::NotJson(_)));
        assert_eq!(refused(r#"{"language":"Yul","sources":{"a.yul":{"content":"{}"}}}"#), SourcesError::OtherLanguage);
        assert_eq!(refused(r#"{"language":"Vyper","sources":{}}"#), SourcesError::Empty);
        let urls = r#"{"language":"Solidity","sources":{"A.sol":{"urls":["file:///etc/passwd"]}}}"#;
        let no_content = SourcesError::NoContent { name: "A.sol".to_owned() };
        assert_eq!(refused(urls), no_content);
        assert_eq!(refused(r#"{"A.sol":"text"}"#), no_content);
        assert_eq!(no_content.to_string(), "has no content for the source A.sol: send its text, URLs are not fetched");
        let long = refused(&format!(r#"{{"{}":{{"content":""}}}}"#, "x".repeat(100_000)));
        assert!(matches!(long, SourcesError::LongName { .. }) && long.to_string().len() < 200, "{long}");
        let lone = refused(r#"{"A.sol":{"content":"\ud800"}}"#).to_string();
        assert!(lone.contains("surrogate") || lone.contains("hex escape"), "{lone}");
    }

    #[test]
    fn the_language_decides_which_compiler_a_version_names() {
        let compiler = |text: &str, version: &str| {
            Sources::read(text).unwrap().compiler(version).map(|version| version.to_string())
        };
        let vyper = r#"{"language":"Vyper","sources":{"a.vy":{"content":"x: uint256"}}}"#;
        assert_eq!(compiler(vyper, "v0.3.10+commit.91361694").as_deref(), Ok("vyper:0.3.10+commit.91361694"));
        assert_eq!(compiler(vyper, "vyper:0.4.3").as_deref(), Ok("vyper:0.4.3"));
        assert_eq!(compiler(r#"{"a.vy":{"content":"x: uint256"}}"#, "0.4.3").as_deref(), Ok("vyper:0.4.3"));
        assert_eq!(compiler("# pragma version ~=0.4.0\nx: uint256", "0.4.3").as_deref(), Ok("vyper:0.4.3"));
        assert_eq!(compiler("x: uint256", "vyper:0.4.3").as_deref(), Ok("vyper:0.4.3"));
        assert_eq!(compiler("contract A {}", "0.8.20").as_deref(), Ok("0.8.20"));
        let solidity = r#"{"language":"Solidity","sources":{"a.sol":{"content":"contract A {}"}}}"#;
        assert!(matches!(compiler(solidity, "vyper:0.4.3"), Err(VersionError::OtherLanguage { .. })));
    }

    #[test]
    fn a_byte_order_mark_is_removed_from_every_file() {
        let single = Sources::read("\u{feff}contract A {}").unwrap();
        assert_eq!(single.single_file(), Some("contract A {}"));
        let several = Sources::read("\u{feff}{\"A.sol\":{\"content\":\"\u{feff}contract A {}\"}}").unwrap();
        assert_eq!(several.files["A.sol"], "contract A {}");
        assert_eq!(Sources::read("\u{feff} ").unwrap_err(), SourcesError::Empty);
    }
}
