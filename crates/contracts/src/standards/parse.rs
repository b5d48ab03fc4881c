//! Declarations as in Solidity, with the members of structs written out: `function pay((address to, uint256 amount)[] all)`.
//! The parser of the ABI library drops the names of members.

use alloy_json_abi::{Error, Event, EventParam, Function, Param, StateMutability};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Declaration {
    Function(Function),
    Event(Event),
    Error(Error),
}

/// A parameter before it is known what it belongs to.
struct Parsed {
    kind: String,
    components: Vec<Param>,
    indexed: bool,
    name: String,
}

pub(super) fn declaration(line: &str) -> Option<Declaration> {
    let (keyword, rest) = line.split_once(' ')?;
    let (name, params) = rest.strip_suffix(')')?.split_once('(')?;
    let (name, params) = (name.to_owned(), parse_all(params)?);
    Some(match keyword {
        "function" => Declaration::Function(Function {
            name,
            inputs: plain(params)?,
            outputs: Vec::new(),
            state_mutability: StateMutability::NonPayable,
        }),
        "event" => Declaration::Event(Event {
            name,
            inputs: params.into_iter().map(Parsed::into_event_param).collect(),
            anonymous: false,
        }),
        "error" => Declaration::Error(Error { name, inputs: plain(params)? }),
        _ => return None,
    })
}

fn parse_all(text: &str) -> Option<Vec<Parsed>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    split(text)?.into_iter().map(parse).collect()
}

/// Splits at the commas outside of parentheses.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(text.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..)?.trim());
    (depth == 0).then_some(parts)
}

fn parse(text: &str) -> Option<Parsed> {
    let (kind, components, rest) = match text.strip_prefix('(') {
        Some(tuple) => {
            let (members, rest) = tuple.rsplit_once(')')?;
            let (array, rest) = rest.split_once(' ')?;
            (format!("tuple{array}"), plain(parse_all(members)?)?, rest)
        }
        None => {
            let (kind, rest) = text.split_once(' ')?;
            (kind.to_owned(), Vec::new(), rest)
        }
    };
    let (indexed, name) = match rest.strip_prefix("indexed ") {
        Some(name) => (true, name),
        None => (false, rest),
    };
    let is_name = !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric());
    is_name.then(|| Parsed { kind, components, indexed, name: name.to_owned() })
}

/// The parameters of a function, an error or a struct: none of them is indexed.
fn plain(params: Vec<Parsed>) -> Option<Vec<Param>> {
    let param = |parsed: Parsed| {
        let Parsed { kind, components, indexed, name } = parsed;
        (!indexed).then_some(Param { ty: kind, name, components, internal_type: None })
    };
    params.into_iter().map(param).collect()
}

impl Parsed {
    fn into_event_param(self) -> EventParam {
        let Self { kind, components, indexed, name } = self;
        EventParam { ty: kind, name, indexed, components, internal_type: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_keep_the_names_of_their_members() {
        let text =
            "function pay(address from, ((address to, uint256[] amounts)[] parts, bool fast) order, bytes32 salt)";
        let Some(Declaration::Function(pay)) = declaration(text) else { panic!("not parsed") };
        assert_eq!(pay.signature(), "pay(address,((address,uint256[])[],bool),bytes32)");
        assert_eq!(pay.inputs[1].components[0].components[1].name, "amounts");
        let Some(Declaration::Event(paid)) = declaration("event Paid(address indexed to, uint256 amount)") else {
            panic!("not parsed")
        };
        assert_eq!(paid.inputs.iter().map(|input| input.indexed).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "",
            "function",
            "function pay",
            "function pay(address)",
            "function pay(address to",
            "function pay(address indexed to)",
            "function pay((address to) )",
            "error Bad(address to,)",
            "struct A(address to)",
        ] {
            assert_eq!(declaration(line), None, "{line}");
        }
    }
}
