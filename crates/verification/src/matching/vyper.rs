//! The code of Vyper contracts. It contains no hash of the sources; immutable variables are behind its end.

use std::collections::BTreeMap;

use domain::{CreationTemplate, MatchKind};

use super::{
    code_match::{CodeMatch, DeployedCode},
    difference::Difference,
    fill,
    runtime::difference,
};
use crate::{CompiledContract, code::VyperFooter};

/// Every byte must be the same except immutable variables, whose number the compiler states. The match is partial: nothing in
/// the runtime code depends on comments and names.
pub(super) fn compare_runtime(compiled: &CompiledContract, chain: DeployedCode<'_>) -> Result<CodeMatch, Difference> {
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

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes, hex};
    use domain::Language;

    use super::*;
    use crate::{CompiledCode, matching::compare};

    /// A footer as Vyper appends it to creation code: the hash of the sources, sizes and the version.
    fn vyper(hash: u8, immutables: u8) -> CompiledContract {
        let runtime = hex!("5f3560e01c5b5f80fd").to_vec();
        let mut creation = [hex!("6009600c5f39").as_slice(), &runtime, &[0x85, 0x58, 0x20], &[hash; 32]].concat();
        creation.extend([u8::try_from(runtime.len()).unwrap(), 0x80, 0x18, immutables]);
        creation.extend(hex!("a165767970657283000403"));
        let footer = u16::try_from(creation.len() - 15 + 2).unwrap();
        creation.extend(footer.to_be_bytes());
        let end = runtime.len();
        let span = std::iter::once(end..end + usize::from(immutables)).collect();
        CompiledContract {
            language: Language::Vyper,
            file: "src/a.vy".to_owned(),
            name: "a".to_owned(),
            abi: r#"[{"type":"constructor","inputs":[{"name":"a","type":"uint256"}],"outputs":[],"stateMutability":"nonpayable"}]"#
                .to_owned(),
            creation: CompiledCode { bytes: creation, links: Vec::new() },
            runtime: CompiledCode { bytes: runtime, links: Vec::new() },
            immutables: if immutables == 0 { Vec::new() } else { vec![("immutables".to_owned(), span)] },
            ..CompiledContract::default()
        }
    }

    fn deployed<'a>(runtime: &'a [u8], creation: &'a [u8]) -> DeployedCode<'a> {
        DeployedCode { address: Address::ZERO, runtime, creation: Some(creation) }
    }

    #[test]
    fn immutables_of_vyper_are_behind_the_code_and_of_the_stated_length() {
        let compiled = vyper(0xaa, 32);
        let on_chain = |tail: &[u8]| [&compiled.runtime.bytes, tail].concat();
        let creation = [compiled.creation.bytes.as_slice(), &[7; 32]].concat();
        let runtime = on_chain(&[0x11; 32]);
        let found = compare(&compiled, None, deployed(&runtime, &creation));
        let matched = found.runtime.clone().unwrap();
        assert_eq!(matched.kind, MatchKind::Partial, "runtime code has no hash of the sources");
        assert_eq!(matched.immutables["immutables"], Bytes::from(vec![0x11; 32]));
        assert_eq!(found.creation_kind(), Some(MatchKind::Exact));
        for tail in [&[][..], &[0x11; 31], &[0x11; 33], &[0x11; 64]] {
            let runtime = on_chain(tail);
            let found = compare(&compiled, None, deployed(&runtime, &creation)).runtime;
            assert!(matches!(found, Err(Difference::Length { .. })), "{found:?}");
        }
        let mut other = runtime;
        other[2] ^= 1;
        let found = compare(&compiled, None, deployed(&other, &creation)).runtime;
        assert!(matches!(found, Err(Difference::Code { offset: 2, differing: 1, .. })), "{found:?}");
        let without = vyper(0xaa, 0);
        assert!(compare(&without, None, deployed(&without.runtime.bytes, &creation)).runtime.is_ok());
    }

    #[test]
    fn another_hash_of_the_sources_of_vyper_makes_the_creation_match_partial() {
        let (compiled, other) = (vyper(0xaa, 0), vyper(0xbb, 0));
        let kind = |creation: &[u8]| {
            let creation = [creation, &[0; 31], &[9]].concat();
            let found = compare(&compiled, None, deployed(&compiled.runtime.bytes, &creation));
            assert_eq!(found.verdict(), Some(MatchKind::Partial));
            found.creation_kind()
        };
        assert_eq!(kind(&compiled.creation.bytes), Some(MatchKind::Exact));
        assert_eq!(kind(&other.creation.bytes), Some(MatchKind::Partial));
        // Sizes and version are no hash.
        let at = compiled.creation.bytes.len() - 3;
        let mut version = compiled.creation.bytes.clone();
        version[at] ^= 1;
        assert_eq!(kind(&version), None);
        let mut code = other.creation.bytes;
        code[0] ^= 1;
        assert_eq!(kind(&code), None);
    }
}
