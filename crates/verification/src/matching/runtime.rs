use domain::MatchKind;

use super::{
    code_match::{CodeMatch, DeployedCode},
    difference::Difference,
    fill,
    metadata::{
        copy_metadata, differing, looks_like_metadata, metadata_regions, own_auxdata, proves_sources, same_compiler,
    },
};
use crate::{Auxdata, CompiledContract};

/// Separates code and metadata in the output of newer compilers.
const INVALID: u8 = 0xfe;

pub(super) fn compare(
    compiled: &CompiledContract,
    altered: Option<&CompiledContract>,
    chain: DeployedCode<'_>,
) -> Result<CodeMatch, Difference> {
    let on_chain = chain.runtime;
    let mut expected = compiled.runtime.bytes.clone();
    if expected.is_empty() {
        return Err(Difference::NoCode);
    }
    let mut stripped = false;
    if expected.len() != on_chain.len() {
        let length = Difference::Length { compiled: expected.len(), on_chain: on_chain.len() };
        let cut = without_metadata(compiled, on_chain).ok_or(length)?;
        expected.truncate(cut);
        stripped = true;
    }
    let names_own_address = fill::call_protection(&mut expected, on_chain, chain.address)?;
    let libraries = fill::libraries(&mut expected, &compiled.runtime, on_chain, None)?;
    let immutables = fill::immutables(&mut expected, compiled, on_chain)?;
    let matched = |kind| CodeMatch { kind, names_own_address, libraries, immutables };

    if expected == on_chain {
        let exact = !stripped && proves_sources(compiled);
        return Ok(matched(if exact { MatchKind::Exact } else { MatchKind::Partial }));
    }
    // A metadata error is reported only if nothing else differs.
    let mut metadata_error = None;
    if let Some(own) = own_auxdata(compiled).filter(|_| !stripped) {
        metadata_error = copy_metadata(&mut expected, &own, on_chain).err();
    }
    if let Some(altered) = altered {
        for region in metadata_regions(&compiled.runtime.bytes, &altered.runtime.bytes) {
            if region.span.end <= expected.len()
                && let Err(error) = copy_metadata(&mut expected, &region, on_chain)
            {
                metadata_error.get_or_insert(error);
            }
        }
    }
    match metadata_error {
        None if expected == on_chain => Ok(matched(MatchKind::Partial)),
        Some(metadata_error) if only_at_end(&expected, on_chain, compiled) => Err(metadata_error),
        _ => {
            let named = other_compiler(compiled, on_chain).filter(|_| only_at_end(&expected, on_chain, compiled));
            let found = || difference(&expected, on_chain, compiled.runtime.bytes.len(), altered.is_none());
            Err(named.unwrap_or_else(found))
        }
    }
}

/// The length of the compiled code without its metadata, if that is the length of the code on the chain, which has none.
fn without_metadata(compiled: &CompiledContract, on_chain: &[u8]) -> Option<usize> {
    if Auxdata::at_end_of(on_chain).is_some() {
        return None;
    }
    let own = own_auxdata(compiled)?;
    let code = compiled.runtime.bytes.get(..own.span.start)?;
    if code.len() == on_chain.len() {
        return Some(code.len());
    }
    let cut = code.strip_suffix(&[INVALID])?.len();
    (cut == on_chain.len()).then_some(cut)
}

/// Whether all differences are in the auxdata at the end.
fn only_at_end(expected: &[u8], on_chain: &[u8], compiled: &CompiledContract) -> bool {
    Auxdata::at_end_of(&compiled.runtime.bytes)
        .is_some_and(|end| differing(expected, on_chain).all(|offset| end.span.contains(&offset)))
}

/// The difference, if both ends name different compilers.
fn other_compiler(compiled: &CompiledContract, on_chain: &[u8]) -> Option<Difference> {
    same_compiler(&Auxdata::at_end_of(&compiled.runtime.bytes)?, &Auxdata::at_end_of(on_chain)?).err()
}

pub(super) fn difference(expected: &[u8], on_chain: &[u8], compiled_length: usize, may_recompile: bool) -> Difference {
    Difference::Code {
        offset: differing(expected, on_chain).next().unwrap_or_else(|| expected.len().min(on_chain.len())),
        differing: differing(expected, on_chain).count(),
        compiled_length,
        on_chain_length: on_chain.len(),
        maybe_metadata: may_recompile && looks_like_metadata(expected, on_chain),
    }
}
