//! What the creation code of a contract proves, beyond the code that it left behind.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes};
use domain::{CreationId, CreationProof, Deployment, VerifiedCode};

use crate::matching::compare_creation;

/// A creation, and the code that ran in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownCreation {
    pub(crate) id: CreationId,
    pub(crate) code: Bytes,
}

/// Compares the creation of a contract with verified code that stands there. Pure: the same for the same two.
pub(crate) fn work_out(code: &VerifiedCode, creation: &KnownCreation) -> Deployment {
    let linked: BTreeMap<String, Address> = code.libraries.iter().cloned().collect();
    let compared = compare_creation(&code.creation, &code.abi, &creation.code, Some(&linked));
    let proof = compared.ok().map(|(found, arguments)| CreationProof {
        kind: found.kind,
        arguments,
        libraries: found.libraries.into_iter().filter(|(library, _)| !linked.contains_key(library)).collect(),
    });
    Deployment { creation: creation.id, build: code.build(), proof }
}
