//! Locates the compiler's metadata in code, and decides what may differ in it.

use super::difference::Difference;
use crate::{Auxdata, CompiledContract, code::hash_metadata};

/// The auxdata at the end of compiled runtime code. A constant can look the same, so the hash in it must be the hash of the
/// metadata that the compiler output.
pub(super) fn own_auxdata(compiled: &CompiledContract) -> Option<Auxdata> {
    let found = Auxdata::at_end_of(&compiled.runtime.bytes)?;
    let hash = found.hash()?;
    (hash_metadata(hash.kind(), compiled.metadata.as_bytes()) == Some(hash)).then_some(found)
}

/// Whether the runtime code contains a hash over its sources.
pub(super) fn proves_sources(compiled: &CompiledContract) -> bool {
    own_auxdata(compiled).is_some()
}

/// The auxdata regions: where two compilations differ whose sources differ only by a space.
pub(super) fn metadata_regions(compiled: &[u8], altered: &[u8]) -> Vec<Auxdata> {
    let mut regions: Vec<Auxdata> = Vec::new();
    if compiled.len() != altered.len() {
        return regions;
    }
    for offset in differing(compiled, altered) {
        if regions.last().is_some_and(|region| region.span.contains(&offset)) {
            continue;
        }
        // Differences outside of metadata remain differences.
        if let Some(region) = Auxdata::around(compiled, offset)
            && region.hash().is_some()
        {
            regions.push(region);
        }
    }
    regions
}

/// Copies the metadata of a region from the chain if it has the same fields and the same compiler. If the chain has no
/// metadata there, nothing is copied: then the code differs.
pub(super) fn copy_metadata(expected: &mut [u8], region: &Auxdata, on_chain: &[u8]) -> Result<(), Difference> {
    let at_start = Auxdata::starting_at(on_chain, region.span.start);
    let at_end = || Auxdata::at_end_of(on_chain).filter(|end| end.span.end == region.span.end);
    let Some(found) = at_start.or_else(at_end).filter(|found| found.has_fields()) else { return Ok(()) };
    if found.span != region.span || !found.has_shape_of(region) {
        return Err(Difference::MetadataFields);
    }
    same_compiler(region, &found)?;
    if let (Some(target), Some(bytes)) = (expected.get_mut(region.span.clone()), on_chain.get(region.span.clone())) {
        target.copy_from_slice(bytes);
    }
    Ok(())
}

/// Equal code of another compiler version is not a match.
pub(super) fn same_compiler(compiled: &Auxdata, on_chain: &Auxdata) -> Result<(), Difference> {
    match (compiled.compiler(), on_chain.compiler()) {
        (Some(compiled), Some(on_chain)) if compiled != on_chain => Err(Difference::Compiler { compiled, on_chain }),
        _ => Ok(()),
    }
}

/// Whether all differing bytes are in what looks like metadata on both sides. A hint to compile again, not a proof.
pub(super) fn looks_like_metadata(expected: &[u8], on_chain: &[u8]) -> bool {
    let mut last: Option<Auxdata> = None;
    differing(expected, on_chain).all(|offset| {
        if last.as_ref().is_some_and(|region| region.span.contains(&offset)) {
            return true;
        }
        last = Auxdata::around(expected, offset).filter(|region| {
            let there = Auxdata::starting_at(on_chain, region.span.start);
            region.hash().is_some() && there.is_some_and(|there| there.has_shape_of(region))
        });
        last.is_some()
    })
}

pub(super) fn differing<'a>(one: &'a [u8], other: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other).map(|(offset, _)| offset)
}
