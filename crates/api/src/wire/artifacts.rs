use std::collections::BTreeMap;

use domain::VerifiedCode;
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

/// Standard JSON input of the Solidity compiler.
#[derive(Debug, Serialize, ToSchema)]
pub struct StandardJsonInput {
    #[schema(example = "Solidity")]
    pub language: String,
    /// The source files, by name.
    pub sources: BTreeMap<String, StandardJsonSource>,
    /// The compiler settings.
    #[schema(value_type = Object)]
    pub settings: Map<String, Value>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StandardJsonSource {
    #[schema(example = "contract Token { }")]
    pub content: String,
}

impl From<VerifiedCode> for StandardJsonInput {
    fn from(code: VerifiedCode) -> Self {
        let mut settings: Map<String, Value> = serde_json::from_str(&code.artifacts.input_settings).unwrap_or_default();
        settings.insert("outputSelection".to_owned(), json!({ "*": { "*": ["*"] } }));
        let source = |source: domain::SourceFile| (source.path, StandardJsonSource { content: source.content });
        Self { language: "Solidity".to_owned(), sources: code.sources.into_iter().map(source).collect(), settings }
    }
}
