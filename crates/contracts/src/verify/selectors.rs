//! Which contract of a source is likely the one on the chain: the one whose functions its code knows.

use std::collections::HashSet;

use crate::{CompiledContract, Interface};

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

/// Orders contracts, the likeliest first.
pub(super) fn rank(contracts: &mut [CompiledContract], code: &[u8]) {
    let known = constants(code);
    contracts.sort_by_cached_key(|contract| {
        let interface = Interface::read(&contract.abi);
        let selectors: Vec<[u8; 4]> = interface.functions.iter().map(|function| function.selector().0).collect();
        let there = selectors.iter().filter(|selector| known.contains(*selector)).count();
        // The share counts first, then the number: an ancestor's functions are all there as well.
        let share = if selectors.is_empty() { 500 } else { there * 1_000 / selectors.len() };
        // An interface has the functions of its contract, but nothing to construct, and often a name that says so.
        let mut name = contract.name.chars();
        let says_interface = name.next() == Some('I') && name.next().is_some_and(char::is_uppercase);
        (std::cmp::Reverse((share, there)), interface.constructor.is_none(), says_interface)
    });
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
        rank(&mut contracts, &code);
        let names: Vec<&str> = contracts.iter().map(|contract| contract.name.as_str()).collect();
        assert_eq!(names, ["Coin", "Base", "More", "Nothing", "Other"]);
    }
}
