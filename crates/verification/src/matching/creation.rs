use std::collections::BTreeMap;

use alloy_dyn_abi::JsonAbiExt;
use alloy_primitives::{Address, Bytes};
use contracts::{Interface, abi};
use domain::{CreationTemplate, Language, LibraryOffset, MatchKind};

use super::{
    code_match::CodeMatch,
    difference::Difference,
    fill,
    metadata::{copy_metadata, metadata_regions, own_auxdata, proves_sources},
    runtime::difference,
    vyper,
};
use crate::{Auxdata, CompiledCode, CompiledContract, LibraryLink};

/// The compiled creation code, and where it may differ between deployments. None for a contract without code: an empty
/// template would be a prefix of any creation code.
#[must_use]
pub(crate) fn creation_template(
    compiled: &CompiledContract,
    altered: Option<&CompiledContract>,
) -> Option<CreationTemplate> {
    if compiled.creation.bytes.is_empty() || compiled.runtime.bytes.is_empty() {
        return None;
    }
    if compiled.language == Language::Vyper {
        return Some(vyper::creation_template(compiled));
    }
    let mut metadata: Vec<_> = own_metadata_region(compiled).into_iter().map(|region| region.span).collect();
    if let Some(altered) = altered {
        for region in metadata_regions(&compiled.creation.bytes, &altered.creation.bytes) {
            if !metadata.contains(&region.span) {
                metadata.push(region.span);
            }
        }
    }
    let unlinked = |link: &LibraryLink| LibraryOffset { library: link.library.clone(), start: link.span.start };
    Some(CreationTemplate {
        code: compiled.creation.bytes.clone().into(),
        links: compiled.creation.links.iter().map(unlinked).collect(),
        metadata,
        proves_sources: proves_sources(compiled),
    })
}

/// Compares the creation code on the chain with the compiled one: it must start with the compiled code, followed by the
/// constructor arguments in the standard encoding.
///
/// `linked` are the libraries of the runtime code: a library has the same address in both.
pub(crate) fn compare_creation(
    template: &CreationTemplate,
    abi: &str,
    on_chain: &[u8],
    linked: Option<&BTreeMap<String, Address>>,
) -> Result<(CodeMatch, Bytes), Difference> {
    compare(template, abi, on_chain, linked, false)
}

/// The same; `may_recompile`: whether a second compilation can still locate more metadata.
pub(super) fn compare(
    template: &CreationTemplate,
    abi: &str,
    on_chain: &[u8],
    linked: Option<&BTreeMap<String, Address>>,
    may_recompile: bool,
) -> Result<(CodeMatch, Bytes), Difference> {
    let mut expected = template.code.to_vec();
    if expected.is_empty() {
        return Err(Difference::NoCode);
    }
    let Some((code, arguments)) = on_chain.split_at_checked(expected.len()) else {
        return Err(Difference::Length { compiled: expected.len(), on_chain: on_chain.len() });
    };
    let link = |place: &LibraryOffset| LibraryLink {
        library: place.library.clone(),
        span: place.start..place.start + Address::len_bytes(),
    };
    let links = CompiledCode { bytes: Vec::new(), links: template.links.iter().map(link).collect() };
    let libraries = fill::libraries(&mut expected, &links, code, linked)?;
    let mut kind = if template.proves_sources { MatchKind::Exact } else { MatchKind::Partial };
    if expected != code {
        kind = MatchKind::Partial;
        // Only metadata may differ.
        for span in &template.metadata {
            if let Some(region) = Auxdata::starting_at(&template.code, span.start) {
                copy_metadata(&mut expected, &region, code)?;
            }
        }
        vyper::copy_integrity_hash(&mut expected, template, code);
        if expected != code {
            return Err(difference(&expected, code, template.code.len(), may_recompile));
        }
    }
    check_arguments(abi, arguments)?;
    Ok((
        CodeMatch { kind, names_own_address: false, libraries, immutables: BTreeMap::new() },
        Bytes::copy_from_slice(arguments),
    ))
}

/// The contract's own metadata at the end of its creation code.
fn own_metadata_region(compiled: &CompiledContract) -> Option<Auxdata> {
    let own = own_auxdata(compiled)?;
    let at_end = Auxdata::at_end_of(&compiled.creation.bytes)?;
    let same = compiled.runtime.bytes.get(own.span)? == compiled.creation.bytes.get(at_end.span.clone())?;
    same.then_some(at_end)
}

fn check_arguments(abi: &str, arguments: &[u8]) -> Result<(), Difference> {
    let invalid = Difference::ConstructorArguments;
    let Some(constructor) = Interface::read(abi).constructor.filter(|constructor| !constructor.inputs.is_empty())
    else {
        return match arguments {
            [] => Ok(()),
            _ => Err(invalid("the constructor takes none")),
        };
    };
    // The deployer chose these bytes, and the submitted source their types.
    let values = abi::decode_all(&constructor.inputs, arguments)
        .ok_or_else(|| invalid("they do not match the constructor's inputs"))?;
    let again = constructor.abi_encode_input(&values).map_err(|_| invalid("they cannot be encoded again"))?;
    if again == arguments { Ok(()) } else { Err(invalid("their encoding has extra or non-standard bytes")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructor_arguments_that_expand_to_too_many_values_are_not_decoded() {
        let abi = r#"[{"type":"constructor","inputs":[{"name":"nested","type":"uint256[][][][]","internalType":"uint256[][][][]"}],"stateMutability":"payable"}]"#;
        let word = |value: usize| alloy_primitives::U256::from(value).to_be_bytes::<32>();
        // Three levels of 20 entries, which all point to the same next level, and 20 numbers: 160,000 values.
        let mut arguments = word(32).to_vec();
        for _ in 0..3 {
            arguments.extend(word(20));
            arguments.extend((0..20).flat_map(|_| word(20 * 32)));
        }
        arguments.extend(word(20));
        arguments.extend((0..20).flat_map(word));

        let reason = Difference::ConstructorArguments("they do not match the constructor's inputs");
        assert_eq!(check_arguments(abi, &arguments), Err(reason));
    }
}
