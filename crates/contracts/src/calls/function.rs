use alloy_json_abi::{Function, StateMutability};

use super::CallError;
use crate::Interface;

/// Of names that could have been meant, so many are told.
const SHOWN: usize = 40;

/// A function as a caller names it: by name, or by signature.
pub(super) struct Wanted(String);

impl Wanted {
    pub(super) fn new(name: &str) -> Self {
        Self(name.chars().filter(|character| !character.is_whitespace()).collect())
    }

    pub(super) fn can_mean(&self, function: &Function) -> bool {
        if self.0.contains('(') { function.signature() == self.0 } else { function.name == self.0 }
    }
}

/// Finds the function that a name or a signature means. The first interface that has it decides.
pub(super) fn resolve<'a>(
    interfaces: &'a [Interface],
    name: &str,
    arguments: usize,
) -> Result<&'a Function, CallError> {
    let wanted = Wanted::new(name);
    for interface in interfaces {
        let meant: Vec<&Function> = interface.functions.iter().filter(|function| wanted.can_mean(function)).collect();
        if !meant.is_empty() {
            return choose(&meant, &wanted.0, arguments);
        }
    }
    let readable = |interface: &'a Interface| interface.functions.iter().filter(|function| only_reads(function));
    let mut known: Vec<String> = interfaces.iter().flat_map(readable).map(Function::signature).collect();
    known.sort();
    known.dedup();
    known.truncate(SHOWN);
    Err(CallError::UnknownFunction { name: name.chars().take(128).collect(), known })
}

fn choose<'a>(meant: &[&'a Function], name: &str, arguments: usize) -> Result<&'a Function, CallError> {
    let of_count: Vec<&'a Function> =
        meant.iter().filter(|function| function.inputs.len() == arguments).copied().collect();
    match (&of_count[..], meant) {
        ([function], _) if !only_reads(function) => Err(CallError::NotView { signature: function.signature() }),
        ([function], _) => Ok(function),
        ([], [function]) => Err(CallError::ArgumentCount {
            signature: function.signature(),
            wanted: function.inputs.len(),
            given: arguments,
        }),
        _ => {
            let signatures = meant.iter().map(|function| function.signature()).collect();
            Err(CallError::Ambiguous { name: name.to_owned(), signatures })
        }
    }
}

fn only_reads(function: &Function) -> bool {
    matches!(function.state_mutability, StateMutability::View | StateMutability::Pure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(functions: &[&str]) -> Interface {
        Interface {
            functions: functions.iter().map(|text| Function::parse(text).unwrap()).collect(),
            ..Interface::default()
        }
    }

    fn own() -> Vec<Interface> {
        vec![
            interface(&["function get() view", "function get(uint256) view", "function get(address) view"]),
            interface(&["function get() pure returns (uint8)", "function set(uint256)", "function own() view"]),
        ]
    }

    fn signature(name: &str, arguments: usize) -> Result<String, String> {
        resolve(&own(), name, arguments).map(Function::signature).map_err(|error| error.to_string())
    }

    #[test]
    fn overloads_are_told_apart_by_count_or_by_signature() {
        assert_eq!(signature("get", 0).unwrap(), "get()");
        assert_eq!(signature("get(address)", 1).unwrap(), "get(address)");
        assert_eq!(signature(" get( uint256 ) ", 1).unwrap(), "get(uint256)");
        let ambiguous = signature("get", 1).unwrap_err();
        assert!(ambiguous.contains("get(uint256)") && ambiguous.contains("get(address)"), "{ambiguous}");
        assert!(signature("get", 5).is_err());
    }

    #[test]
    fn the_first_interface_goes_before_the_second_which_is_still_there() {
        assert!(resolve(&own(), "get", 0).unwrap().outputs.is_empty());
        assert_eq!(signature("own", 0).unwrap(), "own()");
    }

    #[test]
    fn what_changes_state_is_refused_and_what_is_unknown_is_answered_with_what_there_is() {
        assert!(signature("set", 1).unwrap_err().contains("not view or pure"));
        assert!(signature("own", 2).unwrap_err().contains("takes 0 arguments"));
        let unknown = signature("nope", 0).unwrap_err();
        assert!(unknown.contains("own()") && !unknown.contains("set("), "{unknown}");
    }
}
