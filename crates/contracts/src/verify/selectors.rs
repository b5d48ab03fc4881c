//! Which contract of a source is likely the one on the chain: the one whose functions its code knows.

use std::collections::HashSet;

use crate::{CompiledContract, Interface, code::own_part};

/// Reads four-byte constants out of code, as dispatchers compare with them.
fn constants(code: &[u8]) -> HashSet<[u8; 4]> {
    let mut found = HashSet::new();
    let mut at = 0;
    while let Some(operation) = code.get(at) {
        let width = match operation {
            0x60..=0x7f => usize::from(operation - 0x5f),
            _ => 0,
        };
        if (1..=4).contains(&width)
            && let Some(bytes) = code.get(at + 1..=at + width)
        {
            // One that begins with zeros is pushed without them.
            let mut selector = [0; 4];
            selector[4 - width..].copy_from_slice(bytes);
            found.insert(selector);
        }
        at += 1 + width;
    }
    found
}

/// How much of a contract's interface is in code.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Presence {
    /// In a thousand of its functions. It counts first, then the number: an ancestor's functions are all there as well.
    share: usize,
    functions: usize,
}

impl Presence {
    const ALL: usize = 1_000;
    const HALF: usize = 500;

    fn of(interface: &Interface, known: &HashSet<[u8; 4]>) -> Self {
        let functions = interface.functions.iter().filter(|function| known.contains(&function.selector().0)).count();
        let share = match interface.functions.len() {
            0 => Self::HALF,
            all => functions * Self::ALL / all,
        };
        Self { share, functions }
    }
}

/// Orders contracts, the likeliest first, and tells how many of them can be meant: where all functions of one are there,
/// one with less than half of its own is another. Hints, never proof.
pub(super) fn rank(contracts: &mut Vec<CompiledContract>, code: &[u8]) -> usize {
    let known = constants(own_part(code));
    let mut ranked: Vec<_> = std::mem::take(contracts)
        .into_iter()
        .map(|contract| {
            let interface = Interface::read(&contract.abi);
            // An interface has the functions of its contract, but nothing to construct, and often a name that says so.
            let mut name = contract.name.chars();
            let says_interface = name.next() == Some('I') && name.next().is_some_and(char::is_uppercase);
            let behind = (interface.constructor.is_none(), says_interface);
            ((std::cmp::Reverse(Presence::of(&interface, &known)), behind), contract)
        })
        .collect();
    ranked.sort_by(|(one, _), (other, _)| one.cmp(other));
    let surely = ranked.first().is_some_and(|((first, _), _)| first.0.share == Presence::ALL && first.0.functions > 0);
    let likely = ranked.iter().take_while(|((own, _), _)| !surely || own.0.share >= Presence::HALF).count();
    contracts.extend(ranked.into_iter().map(|(_, contract)| contract));
    likely
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    fn contract(name: &str, functions: &[&str]) -> CompiledContract {
        let function = |name: &&str| {
            format!(r#"{{"type":"function","name":"{name}","inputs":[],"outputs":[],"stateMutability":"view"}}"#)
        };
        let abi = format!("[{}]", functions.iter().map(function).collect::<Vec<_>>().join(","));
        CompiledContract { name: name.to_owned(), abi, ..CompiledContract::default() }
    }

    #[test]
    fn an_interface_goes_behind_its_contract() {
        let code = hex!("6318160ddd14");
        let mut contracts = vec![contract("ICoin", &["totalSupply"]), contract("Koin", &["totalSupply"])];
        rank(&mut contracts, &code);
        assert_eq!(contracts[0].name, "Koin");
    }

    #[test]
    fn the_contract_whose_functions_are_all_there_goes_first() {
        // totalSupply(), owner(), and a constant that only looks like the start of an instruction.
        let code = hex!("6318160ddd14638da5cb5b147f6306fdde0300000000000000000000000000000000000000000000000000000000");
        let mut contracts = vec![
            contract("Other", &["name"]),
            contract("Base", &["owner"]),
            contract("Nothing", &[]),
            contract("Coin", &["totalSupply", "owner"]),
            contract("More", &["totalSupply", "owner", "name"]),
        ];
        assert_eq!(rank(&mut contracts, &code), 4);
        let names: Vec<&str> = contracts.iter().map(|contract| contract.name.as_str()).collect();
        assert_eq!(names, ["Coin", "Base", "More", "Nothing", "Other"]);
    }

    #[test]
    fn a_contract_that_is_created_does_not_stand_for_its_maker() {
        // createPair(), then code that begins anew, of one with totalSupply() and owner().
        let code = hex!("6080604052639e78fb4f14fe60806040526318160ddd14638da5cb5b14");
        let mut contracts = vec![
            contract("Pair", &["totalSupply", "owner"]),
            contract("Math", &[]),
            contract("Maker", &["createPair"]),
        ];
        assert_eq!(rank(&mut contracts, &code), 2, "those without functions stay possible");
        assert_eq!(contracts[0].name, "Maker");
        assert_eq!(contracts[2].name, "Pair");
    }
}
