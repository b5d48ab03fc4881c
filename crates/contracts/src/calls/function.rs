use alloy_json_abi::{Function, StateMutability};

use super::CallError;
use crate::Interface;

/// Functions that an error message lists.
const MAX_LISTED: usize = 40;

/// A function as the caller names it: by name or by signature.
pub(super) struct FunctionName(String);

impl FunctionName {
    pub(super) fn new(name: &str) -> Self {
        Self(name.chars().filter(|character| !character.is_whitespace()).collect())
    }

    pub(super) fn matches(&self, function: &Function) -> bool {
        if self.0.contains('(') { function.signature() == self.0 } else { function.name == self.0 }
    }
}

/// Finds a view function by name or signature in the first interface that has it.
pub(super) fn resolve<'a>(
    interfaces: &'a [Interface],
    name: &str,
    arguments: usize,
) -> Result<&'a Function, CallError> {
    let function = find(interfaces, name, arguments, is_view)?;
    if is_view(function) { Ok(function) } else { Err(CallError::NotView { signature: function.signature() }) }
}

/// Finds any function by name or signature in the first interface that has it.
pub(super) fn resolve_any<'a>(
    interfaces: &'a [Interface],
    name: &str,
    arguments: usize,
) -> Result<&'a Function, CallError> {
    find(interfaces, name, arguments, |_| true)
}

/// `is_listed` tells which functions the error about an unknown one lists.
fn find<'a>(
    interfaces: &'a [Interface],
    name: &str,
    arguments: usize,
    is_listed: fn(&Function) -> bool,
) -> Result<&'a Function, CallError> {
    let name_or_signature = FunctionName::new(name);
    for interface in interfaces {
        let matching: Vec<&Function> =
            interface.functions.iter().filter(|function| name_or_signature.matches(function)).collect();
        if !matching.is_empty() {
            return choose(&matching, &name_or_signature.0, arguments);
        }
    }
    let listed = |interface: &'a Interface| interface.functions.iter().filter(|function| is_listed(function));
    let mut known: Vec<String> = interfaces.iter().flat_map(listed).map(Function::signature).collect();
    known.sort();
    known.dedup();
    known.truncate(MAX_LISTED);
    Err(CallError::UnknownFunction { name: name.chars().take(128).collect(), known })
}

fn choose<'a>(matching: &[&'a Function], name: &str, arguments: usize) -> Result<&'a Function, CallError> {
    let with_count: Vec<&'a Function> =
        matching.iter().filter(|function| function.inputs.len() == arguments).copied().collect();
    match (&with_count[..], matching) {
        ([function], _) => Ok(function),
        ([], [function]) => Err(CallError::ArgumentCount {
            signature: function.signature(),
            expected: function.inputs.len(),
            given: arguments,
        }),
        _ => {
            let signatures = matching.iter().map(|function| function.signature()).collect();
            Err(CallError::Ambiguous { name: name.to_owned(), signatures })
        }
    }
}

fn is_view(function: &Function) -> bool {
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

    fn interfaces() -> Vec<Interface> {
        vec![
            interface(&["function get() view", "function get(uint256) view", "function get(address) view"]),
            interface(&["function get() pure returns (uint8)", "function set(uint256)", "function own() view"]),
        ]
    }

    fn signature(name: &str, arguments: usize) -> Result<String, String> {
        resolve(&interfaces(), name, arguments).map(Function::signature).map_err(|error| error.to_string())
    }

    #[test]
    fn overloads_are_resolved_by_argument_count_or_by_signature() {
        assert_eq!(signature("get", 0).unwrap(), "get()");
        assert_eq!(signature("get(address)", 1).unwrap(), "get(address)");
        assert_eq!(signature(" get( uint256 ) ", 1).unwrap(), "get(uint256)");
        let ambiguous = signature("get", 1).unwrap_err();
        assert!(ambiguous.contains("get(uint256)") && ambiguous.contains("get(address)"), "{ambiguous}");
        assert!(signature("get", 5).is_err());
    }

    #[test]
    fn the_first_interface_takes_precedence_over_the_second() {
        assert!(resolve(&interfaces(), "get", 0).unwrap().outputs.is_empty());
        assert_eq!(signature("own", 0).unwrap(), "own()");
    }

    #[test]
    fn any_function_can_be_found_for_a_transaction() {
        assert_eq!(resolve_any(&interfaces(), "set", 1).unwrap().signature(), "set(uint256)");
        let unknown = resolve_any(&interfaces(), "nope", 0).unwrap_err().to_string();
        assert!(unknown.contains("set(uint256)"), "{unknown}");
    }

    #[test]
    fn functions_that_change_state_are_rejected_and_unknown_names_list_the_known_ones() {
        assert!(signature("set", 1).unwrap_err().contains("not a view or pure function"));
        assert!(signature("own", 2).unwrap_err().contains("takes 0 arguments"));
        let unknown = signature("nope", 0).unwrap_err();
        assert!(unknown.contains("own()") && !unknown.contains("set("), "{unknown}");
    }
}
