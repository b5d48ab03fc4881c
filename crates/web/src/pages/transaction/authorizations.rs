//! Accounts that let the code of others run in their place (EIP-7702).

use domain::{Authorization, AuthorizationOutcome};

use crate::view::{AddressLink, PageNames, grouped};

const SHOWN_AUTHORIZATIONS: usize = 100;

pub(super) struct AuthorizationsView {
    pub(super) rows: Vec<AuthorizationRow>,
    pub(super) total: String,
    pub(super) left_out: usize,
}

pub(super) struct AuthorizationRow {
    /// None if the signature is invalid.
    pub(super) signer: Option<AddressLink>,
    /// None if it ends a delegation.
    pub(super) delegate: Option<AddressLink>,
    pub(super) chain: String,
    pub(super) nonce: String,
    /// Whether it had an effect, and why not.
    pub(super) outcome: &'static str,
}

impl AuthorizationsView {
    pub(super) fn new(given: &[Authorization], names: &PageNames) -> Self {
        let row = |given: &Authorization| AuthorizationRow {
            signer: given.signer.map(|signer| names.address(signer)),
            delegate: Some(given.delegate)
                .filter(|delegate| !delegate.is_zero())
                .map(|delegate| names.address(delegate)),
            chain: if given.chain_id.is_zero() { "every chain".to_owned() } else { given.chain_id.to_string() },
            nonce: grouped(given.nonce),
            outcome: match given.outcome {
                AuthorizationOutcome::Applied => "in effect",
                AuthorizationOutcome::OtherChain => "no effect: another chain",
                AuthorizationOutcome::InvalidSignature => "no effect: invalid signature",
                AuthorizationOutcome::OtherNonce => "no effect: the account had another nonce",
                AuthorizationOutcome::HasCode => "no effect: the account is a contract",
                AuthorizationOutcome::Unknown => "unknown: the node does not trace it",
            },
        };
        Self {
            rows: given.iter().take(SHOWN_AUTHORIZATIONS).map(row).collect(),
            total: grouped(given.len() as u64),
            left_out: given.len().saturating_sub(SHOWN_AUTHORIZATIONS),
        }
    }
}
