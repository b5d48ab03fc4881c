use alloy_json_abi::{Constructor, Error, Event, Function, Param};
use serde_json::{Value, value::RawValue};

/// How deep arrays and structs may be nested.
const MAX_DEPTH: usize = 14;

/// The parsed ABI of a contract. Invalid entries are skipped: compilers have written some, mostly for libraries, and one
/// of them must not hide the others.
#[derive(Debug, Clone, Default)]
pub struct Interface {
    pub functions: Vec<Function>,
    pub errors: Vec<Error>,
    pub events: Vec<Event>,
    pub constructor: Option<Constructor>,
}

impl Interface {
    /// Parses a JSON ABI; empty if it is not valid JSON.
    #[must_use]
    pub fn read(abi: &str) -> Self {
        let mut interface = Self::default();
        let entries: Vec<&RawValue> = serde_json::from_str(abi).unwrap_or_default();
        for entry in entries {
            let Ok(value) = serde_json::from_str::<Value>(entry.get()) else { continue };
            match value.get("type").and_then(Value::as_str).unwrap_or("function") {
                "function" => interface.functions.extend(serde_json::from_value::<Function>(value)),
                "error" => interface.errors.extend(serde_json::from_value::<Error>(value)),
                "event" => interface.events.extend(serde_json::from_value::<Event>(value)),
                "constructor" => interface.constructor = serde_json::from_value(value).ok(),
                _ => {}
            }
        }
        interface.functions.retain(|function| are_shallow(&function.inputs) && are_shallow(&function.outputs));
        interface.errors.retain(|error| are_shallow(&error.inputs));
        interface
            .events
            .retain(|event| event.inputs.iter().all(|input| is_shallow(&input.ty, &input.components, MAX_DEPTH)));
        interface.constructor = interface.constructor.filter(|constructor| are_shallow(&constructor.inputs));
        interface
    }
}

/// Whether types can be walked recursively: deeply nested ones would overflow the stack.
fn are_shallow(params: &[Param]) -> bool {
    params.iter().all(|param| is_shallow(&param.ty, &param.components, MAX_DEPTH))
}

fn is_shallow(kind: &str, components: &[Param], max_depth: usize) -> bool {
    let Some(left) = max_depth.checked_sub(kind.matches('[').count() + 1) else { return false };
    components.iter().all(|component| is_shallow(&component.ty, &component.components, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_entry_does_not_hide_the_others() {
        let abi = r#"[
            {"type":"function","name":"good","inputs":[],"outputs":[],"stateMutability":"view"},
            {"type":"function","name":"b a d","inputs":[],"outputs":[],"stateMutability":"view"},
            {"type":"event","name":"E","inputs":[],"anonymous":false},
            {"type":"error","name":"Bad","inputs":[{"name":"","type":"uint256"}]},
            {"type":"constructor","inputs":[{"name":"","type":"uint256"}],"stateMutability":"payable"},
            {"type":"who knows"}, 5
        ]"#;
        let interface = Interface::read(abi);
        assert_eq!(interface.functions.iter().map(|function| function.name.as_str()).collect::<Vec<_>>(), ["good"]);
        assert_eq!((interface.errors.len(), interface.events.len(), interface.constructor.is_some()), (1, 1, true));
        assert!(Interface::read("no json").functions.is_empty());
    }

    #[test]
    fn an_entry_with_deeply_nested_types_is_skipped() {
        let function = |kind: &str, components: Value| {
            serde_json::json!([{ "type": "function", "name": "f", "outputs": [], "stateMutability": "view",
                "inputs": [{ "name": "", "type": kind, "components": components }] }])
        };
        let count = |abi: Value| Interface::read(&abi.to_string()).functions.len();
        let empty = || Value::Array(Vec::new());
        assert_eq!(count(function(&format!("uint256{}", "[]".repeat(10)), empty())), 1);
        assert_eq!(count(function(&format!("uint256{}", "[]".repeat(100_000)), empty())), 0);
        let nested = |depth| {
            (0..depth).fold(
                serde_json::json!([{ "name": "", "type": "bool" }]),
                |inner, _| serde_json::json!([{ "name": "", "type": "tuple", "components": inner }]),
            )
        };
        assert_eq!(count(function("tuple", nested(5))), 1);
        assert_eq!(count(function("tuple", nested(30))), 0);
    }

    #[test]
    fn constant_functions_of_old_compilers_are_view_functions() {
        let abi = r#"[{"constant":true,"inputs":[],"name":"f","outputs":[],"payable":false,"type":"function"}]"#;
        let interface = Interface::read(abi);
        assert_eq!(interface.functions[0].state_mutability, alloy_json_abi::StateMutability::View);
    }
}
