//! What the creation code of a contract proves in addition to its runtime code.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes};
use domain::{CreationId, CreationProof, Deployment, VerifiedCode};

use crate::matching::compare_creation;

/// The code that created a contract, with the constructor arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreationCode {
    pub(crate) id: CreationId,
    pub(crate) code: Bytes,
}

/// Compares the creation code of a contract with its verified code. A pure function.
pub(crate) fn prove_deployment(code: &VerifiedCode, creation: &CreationCode) -> Deployment {
    let linked: BTreeMap<String, Address> = code.libraries.iter().cloned().collect();
    let compared = compare_creation(&code.creation, &code.abi, &creation.code, Some(&linked));
    let proof = compared.ok().map(|(found, arguments)| CreationProof {
        kind: found.kind,
        arguments,
        libraries: found.libraries.into_iter().filter(|(library, _)| !linked.contains_key(library)).collect(),
    });
    Deployment { creation: creation.id, build: code.build(), proof }
}
