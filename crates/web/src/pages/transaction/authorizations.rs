//! Accounts that let the code of others run in their place (EIP-7702).

use domain::{Authorization, U256};

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
    /// Whether it is for another chain, and so without effect.
    pub(super) is_elsewhere: bool,
    pub(super) nonce: String,
}

impl AuthorizationsView {
    /// The chain is that of the index, if it is known.
    pub(super) fn new(given: &[Authorization], chain_id: Option<u64>, names: &PageNames) -> Self {
        let row = |given: &Authorization| AuthorizationRow {
            signer: given.signer.map(|signer| names.address(signer)),
            delegate: Some(given.delegate)
                .filter(|delegate| !delegate.is_zero())
                .map(|delegate| names.address(delegate)),
            chain: if given.chain_id.is_zero() { "every chain".to_owned() } else { given.chain_id.to_string() },
            is_elsewhere: !given.chain_id.is_zero() && chain_id.is_some_and(|own| given.chain_id != U256::from(own)),
            nonce: grouped(given.nonce),
        };
        Self {
            rows: given.iter().take(SHOWN_AUTHORIZATIONS).map(row).collect(),
            total: grouped(given.len() as u64),
            left_out: given.len().saturating_sub(SHOWN_AUTHORIZATIONS),
        }
    }
}
