//! The code of Vyper contracts. It contains no hash of the sources; immutable variables are behind its end.

use std::collections::BTreeMap;

use domain::CreationTemplate;

use super::{CodeMatch, Deployed, Difference, MatchKind, fill, runtime::difference};
use crate::{CompiledContract, code::VyperFooter};

/// Every byte must be the same except immutable variables, whose number the compiler states. The match is partial: nothing in
/// the runtime code depends on comments and names.
pub(super) fn compare_runtime(compiled: &CompiledContract, chain: Deployed<'_>) -> Result<CodeMatch, Difference> {
    let mut expected = compiled.runtime.bytes.clone();
    if expected.is_empty() {
        return Err(Difference::NoCode);
    }
    let behind = compiled.immutables.iter().flat_map(|(_, spans)| spans).map(|span| span.end).max();
    expected.resize(behind.unwrap_or_default().max(expected.len()), 0);
    if expected.len() != chain.runtime.len() {
        return Err(Difference::Length { compiled: expected.len(), on_chain: chain.runtime.len() });
    }
    let immutables = fill::immutables(&mut expected, compiled, chain.runtime)?;
    if expected != chain.runtime {
        return Err(difference(&expected, chain.runtime, compiled.runtime.bytes.len(), false));
    }
    let (kind, libraries) = (MatchKind::Partial, BTreeMap::new());
    Ok(CodeMatch { kind, names_own_address: false, libraries, immutables })
}

/// From 0.4.1 on, the creation code ends with a hash of all sources.
pub(super) fn creation_template(compiled: &CompiledContract) -> CreationTemplate {
    let code = &compiled.creation.bytes;
    let footer = VyperFooter::at_end_of(code).filter(|footer| footer.integrity_hash.is_some());
    CreationTemplate {
        code: code.clone().into(),
        links: Vec::new(),
        proves_sources: footer.is_some(),
        metadata: footer.into_iter().map(|footer| footer.span).collect(),
    }
}

/// Copies the hash of the sources from the chain, if both codes have one at the same place.
pub(super) fn copy_integrity_hash(expected: &mut [u8], template: &CreationTemplate, on_chain: &[u8]) {
    let Some(own) = VyperFooter::at_end_of(&template.code).filter(|own| template.metadata.contains(&own.span)) else {
        return;
    };
    let Some(hash) = own.integrity_hash.clone() else { return };
    if VyperFooter::at_end_of(on_chain).is_none_or(|other| other.integrity_hash != own.integrity_hash) {
        return;
    }
    if let (Some(target), Some(bytes)) = (expected.get_mut(hash.clone()), on_chain.get(hash)) {
        target.copy_from_slice(bytes);
    }
}
