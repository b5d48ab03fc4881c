//! Standard JSON input of the Vyper compiler.

use serde_json::{Map, Value, json};

use crate::{
    search::{Files, Settings},
    sources::{LAYOUT_OVERRIDES, is_abi},
};

type Release = (u16, u16, u16);

/// The first release with modules; before, other files are interfaces.
const MODULES: Release = (0, 4, 0);
/// The first release that writes the size of immutable variables into the creation code; before, it is in the intermediate
/// representation.
const SIZES_IN_CODE: Release = (0, 3, 10);
const SIZES_IN_IR: Release = (0, 3, 2);

/// The outputs to request from the compiler, which rejects unknown ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outputs {
    Code,
    /// Also the intermediate representation.
    CodeAndIr,
}

impl Outputs {
    pub(super) fn of(release: Release) -> Self {
        if (SIZES_IN_IR..SIZES_IN_CODE).contains(&release) { Self::CodeAndIr } else { Self::Code }
    }

    fn names(self) -> Vec<&'static str> {
        let mut names = vec!["abi", "devdoc", "userdoc", "evm.bytecode.object", "evm.deployedBytecode.object"];
        if self == Self::CodeAndIr {
            names.push("ir");
        }
        names
    }
}

/// The input that compiles one of the files.
pub(super) fn build(files: &Files, settings: &Settings, target: &str, outputs: Outputs, release: Release) -> String {
    let (mut sources, mut interfaces) = (Map::new(), Map::new());
    for (file, content) in files {
        if is_abi(file) && file != target {
            let abi: Value = serde_json::from_str(content).unwrap_or_default();
            interfaces.insert(file.clone(), json!({ "abi": abi }));
        } else if file == target || release >= MODULES {
            sources.insert(file.clone(), json!({ "content": content }));
        } else {
            interfaces.insert(file.clone(), json!({ "content": content }));
        }
    }
    let mut settings = settings.clone();
    settings.insert("outputSelection".to_owned(), json!({ target: outputs.names() }));
    let overrides = settings.remove(LAYOUT_OVERRIDES);
    let parts = [
        ("language", Some("Vyper".into())),
        ("sources", Some(sources.into())),
        ("interfaces", Some(interfaces.into())),
        (LAYOUT_OVERRIDES, overrides),
        ("settings", Some(settings.into())),
    ];
    let input: Map<String, Value> =
        parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part?))).collect();
    Value::from(input).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_modules_or_interfaces() {
        let files = ["a.vy", "b.vy"].map(|name| (name.to_owned(), "x: uint256".to_owned()));
        let files: Files = files.into_iter().chain([("c.json".to_owned(), "[]".to_owned())]).collect();
        let settings = json!({ "optimize": "gas", "storage_layout_overrides": { "a.vy": {} } });
        let build = |release| -> Value {
            let settings = settings.as_object().unwrap();
            serde_json::from_str(&build(&files, settings, "a.vy", Outputs::of(release), release)).unwrap()
        };
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let new = build((0, 4, 3));
        assert_eq!(
            (names(&new["sources"]), names(&new["interfaces"])),
            (vec!["a.vy".into(), "b.vy".into()], vec!["c.json".into()])
        );
        assert_eq!(new["storage_layout_overrides"], json!({ "a.vy": {} }));
        assert_eq!(names(&new["settings"]), ["optimize", "outputSelection"]);
        let old = build((0, 3, 9));
        assert_eq!(
            (names(&old["sources"]), names(&old["interfaces"])),
            (vec!["a.vy".into()], vec!["b.vy".into(), "c.json".into()])
        );
        let asks_for_ir =
            |input: &Value| input["settings"]["outputSelection"]["a.vy"].as_array().unwrap().contains(&json!("ir"));
        assert!(asks_for_ir(&old) && !asks_for_ir(&new));
    }
}
