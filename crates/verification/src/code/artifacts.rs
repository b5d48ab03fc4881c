use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Compiler outputs about a contract other than its code, each as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputArtifacts {
    pub storage_layout: Option<String>,
    pub userdoc: Option<String>,
    pub devdoc: Option<String>,
}

#[derive(Deserialize)]
struct RawOutput<'a> {
    #[serde(default, borrow)]
    contracts: BTreeMap<String, BTreeMap<String, RawArtifacts<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawArtifacts<'a> {
    #[serde(borrow)]
    storage_layout: Option<&'a RawValue>,
    #[serde(borrow)]
    userdoc: Option<&'a RawValue>,
    #[serde(borrow)]
    devdoc: Option<&'a RawValue>,
}

impl OutputArtifacts {
    /// Reads the artifacts of one contract; empty if the output has none.
    pub(crate) fn read(json: &str, file: &str, name: &str) -> Self {
        let Ok(mut output) = serde_json::from_str::<RawOutput<'_>>(json) else { return Self::default() };
        let Some(mut defined) = output.contracts.remove(file) else { return Self::default() };
        // Compilers before about 0.4.12 prefix the name with the file.
        let found = defined.remove(name).or_else(|| defined.remove(&format!("{file}:{name}")));
        found.map_or_else(Self::default, |found| Self {
            storage_layout: text(found.storage_layout),
            userdoc: text(found.userdoc),
            devdoc: text(found.devdoc),
        })
    }
}

/// The JSON of a part of the output.
pub(super) fn text(part: Option<&RawValue>) -> Option<String> {
    part.map(|part| part.get().to_owned()).filter(|text| text != "null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_of_the_output_are_read_and_absent_ones_are_none() {
        let json = r#"{"contracts":{"a.sol":{"A":{"userdoc":{"methods":{ }},"devdoc":null}, "B":{"userdoc":{}}}}}"#;
        let read = OutputArtifacts::read(json, "a.sol", "A");
        assert_eq!(read.userdoc.as_deref(), Some(r#"{"methods":{ }}"#));
        assert_eq!((read.devdoc, read.storage_layout), (None, None));
        for (json, name) in [("no json", "A"), ("{}", "A"), (json, "C")] {
            assert_eq!(OutputArtifacts::read(json, "a.sol", name), OutputArtifacts::default());
        }
    }
}
