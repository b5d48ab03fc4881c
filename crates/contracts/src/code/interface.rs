use alloy_json_abi::{Constructor, Error, Function};
use serde_json::{Value, value::RawValue};

/// The interface of a contract. Entries that cannot be read are left out: compilers have written some strange ones, above
/// all for libraries, and one of them must not hide the others.
#[derive(Debug, Clone, Default)]
pub struct Interface {
    pub functions: Vec<Function>,
    pub errors: Vec<Error>,
    pub constructor: Option<Constructor>,
}

impl Interface {
    /// Reads the JSON that compilers give; nothing where it is none.
    #[must_use]
    pub fn read(abi: &str) -> Self {
        let mut interface = Self::default();
        let entries: Vec<&RawValue> = serde_json::from_str(abi).unwrap_or_default();
        for entry in entries {
            let Ok(value) = serde_json::from_str::<Value>(entry.get()) else { continue };
            match value.get("type").and_then(Value::as_str).unwrap_or("function") {
                "function" => interface.functions.extend(serde_json::from_value::<Function>(value)),
                "error" => interface.errors.extend(serde_json::from_value::<Error>(value)),
                "constructor" => interface.constructor = serde_json::from_value(value).ok(),
                _ => {}
            }
        }
        interface
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_cannot_be_read_does_not_hide_the_others() {
        let abi = r#"[
            {"type":"function","name":"good","inputs":[],"outputs":[],"stateMutability":"view"},
            {"type":"function","name":"b a d","inputs":[],"outputs":[],"stateMutability":"view"},
            {"type":"event","name":"E","inputs":[]},
            {"type":"error","name":"Bad","inputs":[{"name":"","type":"uint256"}]},
            {"type":"constructor","inputs":[{"name":"","type":"uint256"}],"stateMutability":"payable"},
            {"type":"who knows"}, 5
        ]"#;
        let interface = Interface::read(abi);
        assert_eq!(interface.functions.iter().map(|function| function.name.as_str()).collect::<Vec<_>>(), ["good"]);
        assert_eq!((interface.errors.len(), interface.constructor.is_some()), (1, true));
        assert!(Interface::read("no json").functions.is_empty());
    }

    #[test]
    fn constant_functions_of_old_compilers_are_views() {
        let abi = r#"[{"constant":true,"inputs":[],"name":"f","outputs":[],"payable":false,"type":"function"}]"#;
        let interface = Interface::read(abi);
        assert_eq!(interface.functions[0].state_mutability, alloy_json_abi::StateMutability::View);
    }
}
