//! Disables the model checker (SMTChecker), which can run for a very long time and does not affect the code. A source
//! enables it with `pragma experimental SMTChecker`.
//!
//! Measured on the JavaScript builds with a source of 350 bytes: before 0.6.9 they have no solver and finish in a second;
//! from 0.6.9 to 0.7.3 it cannot be disabled without changing the metadata, so the CPU budget ends it; 0.7.4 and 0.7.5 have
//! a switch next to the settings, later ones inside them. From 0.8.4 on the pragma overrides the switch, but not the
//! selection of contracts to check: one that does not exist is selected. None of this appears in the metadata.

use serde_json::{Map, Value, json};

type Release = (u16, u16, u16);

const SWITCH_OUTSIDE_SETTINGS: Release = (0, 7, 4);
const SWITCH_IN_SETTINGS: Release = (0, 7, 6);
const CONTRACTS_IN_SETTINGS: Release = (0, 8, 4);

/// Disables the model checker in the settings, overriding what they contain.
pub(crate) fn disable(settings: &mut Map<String, Value>, release: Release) {
    settings.remove("modelCheckerSettings");
    settings.remove("modelChecker");
    if release >= CONTRACTS_IN_SETTINGS {
        settings.insert("modelChecker".to_owned(), json!({ "engine": "none", "contracts": { "-": ["-"] } }));
    } else if release >= SWITCH_IN_SETTINGS {
        settings.insert("modelChecker".to_owned(), json!({ "engine": "none" }));
    }
}

/// Disables the model checker in standard JSON input for compilers that have the switch outside of the settings.
pub(super) fn disable_outside_settings(input: String, release: Release) -> String {
    match input.strip_prefix('{') {
        Some(rest) if (SWITCH_OUTSIDE_SETTINGS..SWITCH_IN_SETTINGS).contains(&release) => {
            format!(r#"{{"modelCheckerSettings":{{"engine":"none"}},{rest}"#)
        }
        _ => input,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_checker_settings_of_a_request_are_overridden() {
        let given = json!({ "modelChecker": { "engine": "all", "timeout": 0 }, "viaIR": true });
        let settings = |release| {
            let mut settings = given.as_object().unwrap().clone();
            disable(&mut settings, release);
            Value::from(settings)
        };
        assert_eq!(settings((0, 8, 20))["modelChecker"]["contracts"], json!({ "-": ["-"] }));
        assert_eq!(settings((0, 8, 3)), json!({ "modelChecker": { "engine": "none" }, "viaIR": true }));
        assert_eq!(settings((0, 7, 5)), json!({ "viaIR": true }));
        let input = json!({ "language": "Solidity" }).to_string();
        let outside =
            |release| serde_json::from_str::<Value>(&disable_outside_settings(input.clone(), release)).unwrap();
        assert_eq!(outside((0, 7, 4))["modelCheckerSettings"], json!({ "engine": "none" }));
        assert_eq!(outside((0, 7, 6)), json!({ "language": "Solidity" }));
        assert_eq!(outside((0, 7, 3)), json!({ "language": "Solidity" }));
    }
}
