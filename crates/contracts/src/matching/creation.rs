use std::collections::BTreeMap;

use alloy_dyn_abi::JsonAbiExt;
use alloy_primitives::{Address, Bytes};

use super::{
    CodeMatch, Difference, MatchKind, fill,
    metadata::{own_auxdata, proves_sources, regions, take_over},
    runtime::difference,
};
use crate::{Auxdata, CompiledContract, Interface};

/// The code that made a contract must begin with the compiled one, and what follows must be the constructor's
/// arguments, written as everybody writes them.
pub(super) fn compare(
    compiled: &CompiledContract,
    altered: Option<&CompiledContract>,
    on_chain: &[u8],
    linked: Option<&BTreeMap<String, Address>>,
) -> Result<(CodeMatch, Bytes), Difference> {
    let mut expected = compiled.creation.bytes.clone();
    // Nothing is at the beginning of everything: an abstract contract would make every other.
    if expected.is_empty() || compiled.runtime.bytes.is_empty() {
        return Err(Difference::NoCode);
    }
    let Some((code, arguments)) = on_chain.split_at_checked(expected.len()) else {
        return Err(Difference::Length { compiled: expected.len(), on_chain: on_chain.len() });
    };
    let libraries = fill::libraries(&mut expected, &compiled.creation, code, linked)?;
    let mut kind = if proves_sources(compiled) { MatchKind::Exact } else { MatchKind::Partial };
    if expected != code {
        kind = MatchKind::Partial;
        if let Some(region) = own_region(compiled) {
            // Code that ends in its metadata: there, and nowhere else, it may differ.
            take_over(&mut expected, &region, code)?;
        }
        if let Some(altered) = altered {
            for region in regions(&compiled.creation.bytes, &altered.creation.bytes) {
                take_over(&mut expected, &region, code)?;
            }
        }
        if expected != code {
            return Err(difference(&expected, code, compiled.creation.bytes.len(), altered.is_none()));
        }
    }
    check_arguments(&compiled.abi, arguments)?;
    Ok((CodeMatch { kind, libraries, immutables: BTreeMap::new() }, Bytes::copy_from_slice(arguments)))
}

/// The contract's own metadata at the end of its creation code.
fn own_region(compiled: &CompiledContract) -> Option<Auxdata> {
    let own = own_auxdata(compiled)?;
    let at_end = Auxdata::at_end_of(&compiled.creation.bytes)?;
    let same = compiled.runtime.bytes[own.span] == compiled.creation.bytes[at_end.span.clone()];
    same.then_some(at_end)
}

fn check_arguments(abi: &str, arguments: &[u8]) -> Result<(), Difference> {
    let unreadable = Difference::ConstructorArguments;
    let Some(constructor) = Interface::read(abi).constructor.filter(|constructor| !constructor.inputs.is_empty())
    else {
        return match arguments {
            [] => Ok(()),
            _ => Err(unreadable("the constructor takes none")),
        };
    };
    let values =
        constructor.abi_decode_input(arguments).map_err(|_| unreadable("they are not what the constructor takes"))?;
    let again = constructor.abi_encode_input(&values).map_err(|_| unreadable("they cannot be written again"))?;
    if again == arguments { Ok(()) } else { Err(unreadable("something stands among or behind them")) }
}
