use std::collections::BTreeMap;

use domain::{Language, SourceFile, VerifiedCode};
use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};
use utoipa::ToSchema;

/// JSON as written by the compiler.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct CompilerJson(Box<RawValue>);

impl CompilerJson {
    /// None if the text is not JSON.
    #[must_use]
    pub fn new(text: String) -> Option<Self> {
        RawValue::from_string(text).ok().map(Self)
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StandardJsonInput {
    #[schema(example = "Solidity")]
    pub language: String,
    /// By file name.
    pub sources: BTreeMap<String, StandardJsonSource>,
    /// The ABIs of interfaces that Vyper sources import, by file name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Option<Object>)]
    pub interfaces: Map<String, Value>,
    /// Storage slots of a Vyper contract that the compiler did not choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub storage_layout_overrides: Option<Value>,
    #[schema(value_type = Object)]
    pub settings: Map<String, Value>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StandardJsonSource {
    pub content: String,
}

impl From<VerifiedCode> for StandardJsonInput {
    fn from(code: VerifiedCode) -> Self {
        let language = code.language();
        let mut settings: Map<String, Value> = serde_json::from_str(&code.artifacts.input_settings).unwrap_or_default();
        let (mut sources, mut interfaces, mut storage_layout_overrides) = (BTreeMap::new(), Map::new(), None);
        // Vyper compiles every file whose output is requested, also those that are only imported.
        let selected = match language {
            Language::Solidity => "*",
            Language::Vyper => &code.file,
        };
        settings.insert("outputSelection".to_owned(), json!({ selected: { "*": ["*"] } }));
        if language == Language::Vyper {
            storage_layout_overrides = settings.remove("storage_layout_overrides");
        }
        for SourceFile { path, content } in code.sources {
            let abi = (language == Language::Vyper && path.ends_with(".json"))
                .then(|| serde_json::from_str::<Value>(&content).ok())
                .flatten();
            match abi {
                Some(abi) => drop(interfaces.insert(path, json!({ "abi": abi }))),
                None => drop(sources.insert(path, StandardJsonSource { content })),
            }
        }
        Self { language: language.name().to_owned(), sources, interfaces, storage_layout_overrides, settings }
    }
}

#[cfg(test)]
mod tests {
    use domain::Artifacts;

    use super::*;

    #[test]
    fn the_input_of_a_vyper_contract_has_its_interfaces_and_overrides() {
        let file = |path: &str, content: &str| SourceFile { path: path.to_owned(), content: content.to_owned() };
        let settings = r#"{"evmVersion":"paris","storage_layout_overrides":{"a.vy":{}}}"#;
        let code = VerifiedCode {
            code_hash: Default::default(),
            name: "a".to_owned(),
            compiler: "vyper:0.4.3+commit.bff19ea2".to_owned(),
            runtime_match: domain::MatchKind::Partial,
            license: None,
            verified_at: 0,
            names_own_address: false,
            file: "a.vy".to_owned(),
            abi: "[]".to_owned(),
            settings: settings.to_owned(),
            sources: vec![file("a.vy", "import b"), file("b.json", "[]")],
            libraries: Vec::new(),
            artifacts: Artifacts { input_settings: settings.to_owned(), ..Artifacts::default() },
            creation: Default::default(),
        };
        let expected = json!({
            "language": "Vyper",
            "sources": { "a.vy": { "content": "import b" } },
            "interfaces": { "b.json": { "abi": [] } },
            "storage_layout_overrides": { "a.vy": {} },
            "settings": { "evmVersion": "paris", "outputSelection": { "a.vy": { "*": ["*"] } } },
        });
        assert_eq!(serde_json::to_value(StandardJsonInput::from(code)).unwrap(), expected);
    }
}
