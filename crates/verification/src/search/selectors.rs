//! Ranks the contracts of a source by the functions and other constants in the code on the chain, which no settings change.

use std::{collections::HashSet, fmt};

use contracts::Interface;

use crate::{CompiledContract, code::without_nested_code};

type Selector = [u8; 4];

/// Functions of each side that a message names.
const MAX_NAMED: usize = 5;

/// The instructions of code: each opcode and the bytes that it pushes.
fn instructions(code: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = code;
    std::iter::from_fn(move || {
        let (operation, rest_of_code) = rest.split_first()?;
        let width = if (0x60..=0x7f).contains(operation) { usize::from(operation - 0x5f) } else { 0 };
        let (pushed, rest_of_code) = rest_of_code.split_at(width.min(rest_of_code.len()));
        rest = rest_of_code;
        Some((*operation, pushed))
    })
}

/// Leading zeros of a selector are not pushed.
fn as_selector(pushed: &[u8]) -> Option<Selector> {
    let mut selector = [0; 4];
    selector.get_mut(4_usize.checked_sub(pushed.len())?..)?.copy_from_slice(pushed);
    Some(selector)
}

/// Constants of up to four bytes, such as the selectors in dispatchers.
fn constants(code: &[u8]) -> HashSet<Selector> {
    instructions(code).filter(|(_, pushed)| !pushed.is_empty()).filter_map(|(_, pushed)| as_selector(pushed)).collect()
}

/// Moves an item to the front, and those before it back by one.
pub(super) fn move_to_front<T>(items: &mut [T], index: usize) {
    if let Some(items) = items.get_mut(..=index) {
        items.rotate_right(1);
    }
}

/// The selectors that the dispatcher at the start of code compares with. Only unambiguous patterns are read, so some may be
/// missing, mostly in code that was compiled via IR.
fn dispatched(code: &[u8]) -> HashSet<Selector> {
    const EQ: u8 = 0x14;
    const AND: u8 = 0x16;
    const SHR: u8 = 0x1c;
    const CALLDATALOAD: u8 = 0x35;
    const JUMPI: u8 = 0x57;
    /// Instructions between the load of the selector and its mask or shift.
    const MAX_DISTANCE: usize = 8;
    let mut found = HashSet::new();
    let code: Vec<(u8, &[u8])> = instructions(code).collect();
    let Some(load) = code.iter().position(|(operation, _)| *operation == CALLDATALOAD) else { return found };
    let mut near = code.iter().enumerate().skip(load).take(MAX_DISTANCE);
    let Some((change, _)) = near.find(|(_, (operation, _))| matches!(*operation, AND | SHR)) else { return found };
    let (_, dispatcher) = code.split_at(change + 1);
    for (at, (operation, _)) in dispatcher.iter().enumerate() {
        // Pushes, copies, comparisons, jumps, and the revert if no selector matches.
        if !matches!(operation, 0x10 | 0x11 | &EQ | 0x56 | &JUMPI | 0x5b | 0x5f | 0x60..=0x63 | 0x80..=0x82 | 0xfd) {
            break;
        }
        let selector = match (operation, dispatcher.get(at.saturating_sub(4)..at)) {
            (&JUMPI, Some([_, (_, selector), (EQ, _), (_, _)])) if !selector.is_empty() => *selector,
            (&JUMPI, Some([(_, selector), (0x80..=0x82, _), (EQ, _), (_, _)])) => *selector,
            _ => continue,
        };
        if !selector.is_empty() {
            found.extend(as_selector(selector));
        }
    }
    found
}

/// Functions that only the source or only the code on the chain has. Settings do not change them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionDifference {
    /// Signatures.
    pub only_in_source: Vec<String>,
    pub only_on_chain: Vec<Selector>,
}

impl FunctionDifference {
    /// None if no difference is found.
    pub(super) fn between(compiled: &CompiledContract, on_chain: &[u8]) -> Option<Self> {
        let (ours, theirs) = (constants(&compiled.runtime.bytes), constants(on_chain));
        let functions = Interface::read(&compiled.abi).functions;
        let missing = functions.iter().filter(|function| {
            let selector = function.selector().0;
            ours.contains(&selector) && !theirs.contains(&selector)
        });
        let mut only_on_chain: Vec<Selector> =
            dispatched(on_chain).into_iter().filter(|selector| !ours.contains(selector)).collect();
        only_on_chain.sort_unstable();
        let differ = Self { only_in_source: missing.map(|function| function.signature()).collect(), only_on_chain };
        (differ != Self::default()).then_some(differ)
    }
}

impl fmt::Display for FunctionDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: Vec<String>| {
            let more = names.len().saturating_sub(MAX_NAMED);
            let named = names.into_iter().take(MAX_NAMED).collect::<Vec<_>>().join(", ");
            if more > 0 { format!("{named} and {more} more") } else { named }
        };
        let ours = list(self.only_in_source.iter().map(|name| crate::shortened(name)).collect());
        let theirs = list(self.only_on_chain.iter().map(alloy_primitives::hex::encode_prefixed).collect());
        if !self.only_in_source.is_empty() {
            write!(f, "The code on the chain does not have the functions {ours} of the source.")?;
        }
        if !self.only_on_chain.is_empty() {
            let space = if self.only_in_source.is_empty() { "" } else { " " };
            write!(f, "{space}It has functions with the selectors {theirs}, which the source does not have.")?;
        }
        Ok(())
    }
}

/// Whether most long constants on the chain (strings, event topics, selectors) are missing in the compiled code. Settings
/// change the order of constants and how they are pushed, but not their values.
pub(super) fn has_other_constants(compiled: &[u8], on_chain: &[u8]) -> bool {
    const MIN_CONSTANTS: usize = 8;
    let significant = |pushed: &[u8]| {
        let start = pushed.iter().position(|byte| *byte != 0)?;
        let end = pushed.iter().rposition(|byte| *byte != 0)?;
        let kept = pushed.get(start..=end)?;
        let distinct: HashSet<&u8> = kept.iter().collect();
        (distinct.len() >= 4).then(|| kept.to_vec())
    };
    // Pushed addresses are those of libraries, not constants.
    let pushes = |operation: u8| operation == 0x63 || (0x67..=0x7f).contains(&operation) && operation != 0x73;
    let constants: HashSet<Vec<u8>> = instructions(without_nested_code(on_chain))
        .filter(|(operation, _)| pushes(*operation))
        .filter_map(|(_, pushed)| significant(pushed))
        .collect();
    let found = constants
        .iter()
        .filter(|constant| compiled.windows(constant.len()).any(|window| window == constant.as_slice()));
    constants.len() >= MIN_CONSTANTS && found.count() * 2 < constants.len()
}

/// How many of a contract's functions are in the code.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Presence {
    /// Per mille of its functions. Compared before the number, since all functions of a base contract are present as well.
    share: usize,
    functions: usize,
}

impl Presence {
    const ALL: usize = 1_000;
    const HALF: usize = 500;

    fn of(interface: &Interface, known: &HashSet<Selector>) -> Self {
        let functions = interface.functions.iter().filter(|function| known.contains(&function.selector().0)).count();
        let share = match interface.functions.len() {
            0 => Self::HALF,
            all => functions * Self::ALL / all,
        };
        Self { share, functions }
    }
}

/// Which contracts of a source may be the one on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ranking {
    /// Their number; at least the first one.
    pub(super) likely: usize,
    /// Whether the functions of one of them match the code on the chain.
    pub(super) possible: bool,
}

/// Sorts contracts, most likely first, and counts the likely ones. A contract that has every function of the dispatcher, and
/// none that is missing in the code, rules out all others; otherwise every contract without missing functions is likely.
/// These are hints, not proof.
pub(super) fn rank(contracts: &mut Vec<CompiledContract>, code: &[u8]) -> Ranking {
    let (own, anywhere, dispatched) = (constants(without_nested_code(code)), constants(code), dispatched(code));
    let mut ranked: Vec<_> = std::mem::take(contracts)
        .into_iter()
        .map(|contract| {
            let interface = Interface::read(&contract.abi);
            let selectors: HashSet<Selector> = interface.functions.iter().map(|one| one.selector().0).collect();
            // Zero has its own instruction, PUSH0.
            let possible = selectors.iter().all(|selector| anywhere.contains(selector) || *selector == [0; 4]);
            let complete = possible && !selectors.is_empty() && dispatched.is_subset(&selectors);
            // An interface has the functions of its contract, but no constructor, and often a name that starts with I.
            let mut name = contract.name.chars();
            let is_named_like_interface = name.next() == Some('I') && name.next().is_some_and(char::is_uppercase);
            let is_like_interface = (interface.constructor.is_none(), is_named_like_interface);
            let presence = Presence::of(&interface, &own);
            let unlikely = (!complete || dispatched.is_empty(), !possible);
            ((unlikely, std::cmp::Reverse(presence), is_like_interface), contract)
        })
        .collect();
    ranked.sort_by(|(one, _), (other, _)| one.cmp(other));
    let first = ranked.first().map(|((unlikely, ..), _)| *unlikely);
    let surely =
        ranked.first().is_some_and(|((_, first, _), _)| first.0.share == Presence::ALL && first.0.functions > 0);
    let is_likely = |unlikely: (bool, bool), presence: &Presence| {
        Some(unlikely) == first && !unlikely.1 && (!surely || presence.share >= Presence::HALF)
    };
    let likely = ranked.iter().take_while(|((unlikely, presence, _), _)| is_likely(*unlikely, &presence.0)).count();
    let likely = likely.max(1).min(ranked.len());
    let complete = first.is_some_and(|(incomplete, _)| !incomplete);
    // If no contract has all its functions in the code, the source may be another version: then the contract with most
    // matching functions is compared, not its base contracts, which may have no code.
    let most = ranked.iter().enumerate().max_by_key(|(index, ((_, presence, _), contract))| {
        (presence.0.functions, Interface::read(&contract.abi).functions.len(), std::cmp::Reverse(*index))
    });
    let possible = complete || dispatched.is_empty();
    let most = most.map(|(index, _)| index).filter(|index| !possible && *index >= likely);
    if let Some(most) = most {
        move_to_front(&mut ranked, most);
    }
    contracts.extend(ranked.into_iter().map(|(_, contract)| contract));
    let likely = likely + usize::from(most.is_some());
    Ranking { likely, possible }
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
    fn an_interface_ranks_after_its_contract() {
        let code = hex!("6318160ddd14");
        let mut contracts = vec![contract("ICoin", &["totalSupply"]), contract("Koin", &["totalSupply"])];
        rank(&mut contracts, &code);
        assert_eq!(contracts[0].name, "Koin");
    }

    #[test]
    fn the_contract_with_all_functions_in_the_code_ranks_first() {
        // totalSupply(), owner(), and a constant that only looks like the start of an instruction.
        let code = hex!("6318160ddd14638da5cb5b147f6306fdde0300000000000000000000000000000000000000000000000000000000");
        let mut contracts = vec![
            contract("Other", &["name"]),
            contract("Base", &["owner"]),
            contract("Nothing", &[]),
            contract("Coin", &["totalSupply", "owner"]),
            contract("More", &["totalSupply", "owner", "name"]),
        ];
        assert_eq!(rank(&mut contracts, &code).likely, 3, "contracts with missing functions are ruled out");
        let names: Vec<&str> = contracts.iter().map(|contract| contract.name.as_str()).collect();
        assert_eq!(names, ["Coin", "Base", "Nothing", "More", "Other"]);
    }

    #[test]
    fn a_created_contract_ranks_after_its_factory() {
        // createPair(), then the code of another contract, with totalSupply() and owner().
        let code = hex!("6080604052639e78fb4f14fe60806040526318160ddd14638da5cb5b14");
        let mut contracts = vec![
            contract("Pair", &["totalSupply", "owner"]),
            contract("Math", &[]),
            contract("Maker", &["createPair"]),
        ];
        assert_eq!(rank(&mut contracts, &code).likely, 2, "contracts without functions remain possible");
        assert_eq!(contracts[0].name, "Maker");
        assert_eq!(contracts[2].name, "Pair");
    }

    /// The start of real code of solc 0.8.20, with a dispatcher for three functions.
    const DISPATCHER: &str = "608060405234801561000f575f80fd5b506004361061003f575f3560e01c806318160ddd146100435780638da5cb5b1461006157806306fdde031461007f575b5f80fd5b61004b61009b565b";

    #[test]
    fn dispatchers_of_old_and_new_compilers_are_read() {
        let read = |code: &str| {
            let mut found: Vec<String> = dispatched(&hex::decode(code).unwrap()).into_iter().map(hex::encode).collect();
            found.sort();
            found
        };
        assert_eq!(read(DISPATCHER), ["06fdde03", "18160ddd", "8da5cb5b"]);
        let old = "6060604052600436106100615763ffffffff7c01000000000000000000000000000000000000000000000000000000006000350416630c55699c81146100665780636d4ce63c1461008b575b600080fd5b";
        assert_eq!(read(old), ["0c55699c", "6d4ce63c"]);
        let halved = "5f3560e01c8063a9059cbb116100215780630c55699c146100305780630000000114610040575b5f80fd5b";
        assert_eq!(read(halved), ["00000001", "0c55699c"], "the pivot of a binary search is not a function");
        assert_eq!(read("608060405200"), [] as [&str; 0]);
        assert_eq!(read(""), [] as [&str; 0]);
    }

    #[test]
    fn the_contract_with_all_dispatched_functions_rules_out_its_base_contracts() {
        let mut contracts = vec![
            contract("Owned", &["owner"]),
            contract("Nothing", &[]),
            contract("Coin", &["totalSupply", "owner", "name"]),
        ];
        let code = hex::decode(DISPATCHER).unwrap();
        assert_eq!(rank(&mut contracts, &code), Ranking { likely: 1, possible: true });
        let mut strange = vec![contract("Strange", &["mint"])];
        assert_eq!(rank(&mut strange, &code), Ranking { likely: 1, possible: false });
        assert_eq!(contracts[0].name, "Coin");
    }

    #[test]
    fn another_version_of_a_contract_ranks_before_its_base_contracts() {
        let mut contracts =
            vec![contract("Base", &["totalSupply", "owner"]), contract("Coin", &["totalSupply", "owner", "mint"])];
        let ranking = rank(&mut contracts, &hex::decode(DISPATCHER).unwrap());
        assert_eq!(ranking, Ranking { likely: 2, possible: false });
        assert_eq!(contracts[0].name, "Coin");
    }

    #[test]
    fn functions_of_only_one_side_are_named() {
        let on_chain = hex::decode(DISPATCHER).unwrap();
        let mut other = contract("Coin", &["totalSupply", "owner", "mint"]);
        other.runtime.bytes = hex!("6318160ddd638da5cb5b631249c58b").to_vec();
        let differ = FunctionDifference::between(&other, &on_chain).unwrap();
        assert_eq!(differ.only_in_source, ["mint()"]);
        assert_eq!(differ.only_on_chain, [hex!("06fdde03")]);
        let message = differ.to_string();
        assert!(message.contains("does not have the functions mint() of the source"), "{message}");
        assert!(message.contains("0x06fdde03"), "{message}");

        // A selector that the code contains for another reason is not a difference.
        let mut same = contract("Coin", &["totalSupply", "owner"]);
        same.runtime.bytes = hex!("6318160ddd638da5cb5b6306fdde03").to_vec();
        assert_eq!(FunctionDifference::between(&same, &on_chain), None);
    }

    #[test]
    fn different_sources_are_recognised_by_constants_in_any_order_and_width() {
        let texts: Vec<String> = (0..10_u8).map(|number| hex::encode([number, 0x11, 0x47, number ^ 0x5a])).collect();
        let code =
            |texts: &[String]| hex::decode(texts.iter().map(|text| format!("63{text}50")).collect::<String>()).unwrap();
        let (on_chain, mut turned) = (code(&texts), texts.clone());
        turned.reverse();
        assert!(!has_other_constants(&code(&turned), &on_chain));
        let padded: String = texts.iter().map(|text| format!("7f{text}{}50", "00".repeat(28))).collect();
        assert!(!has_other_constants(&hex::decode(padded).unwrap(), &on_chain));
        assert!(!has_other_constants(&code(&texts[4..]), &on_chain), "most of them are found");
        assert!(has_other_constants(&code(&texts[6..]), &on_chain));
        assert!(!has_other_constants(&[], &code(&texts[..5])), "too few constants");
    }
}
