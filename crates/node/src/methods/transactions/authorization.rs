//! Authorizations of accounts to run the code of another one (EIP-7702).

use alloy_primitives::{Signature, U256, keccak256};
use alloy_rlp::Encodable;
use domain::{Authorization, AuthorizationOutcome};

use crate::{decode::RawAuthorization, verify::rlp_list};

/// Begins what is signed.
const MAGIC: u8 = 0x05;

/// An account without a valid signature is not known.
pub(super) fn authorization(raw: &RawAuthorization) -> Authorization {
    let mut signed = vec![MAGIC];
    rlp_list(&mut signed, |out| {
        raw.chain_id.0.encode(out);
        raw.address.0.encode(out);
        raw.nonce.0.encode(out);
    });
    let parity = raw.y_parity.or(raw.v).map(|parity| parity.0);
    let signature = parity.filter(|parity| *parity <= 1).map(|parity| Signature::new(raw.r.0, raw.s.0, parity == 1));
    // The specification rejects the other of two signatures that are equally valid.
    let signature = signature.filter(|signature| signature.s() <= half_of_the_order());
    Authorization {
        chain_id: raw.chain_id.0,
        delegate: raw.address.0,
        nonce: raw.nonce.0,
        signer: signature.and_then(|signature| signature.recover_address_from_prehash(&keccak256(&signed)).ok()),
        outcome: AuthorizationOutcome::Unknown,
    }
}

/// Of the curve secp256k1.
fn half_of_the_order() -> U256 {
    U256::from_limbs([0xdfe9_2f46_681b_20a0, 0x5d57_6e73_57a4_501d, 0xffff_ffff_ffff_ffff, 0x7fff_ffff_ffff_ffff])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> RawAuthorization {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn half_of_the_order_is_that_of_the_specification() {
        let expected = "0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0";
        assert_eq!(format!("{:#x}", half_of_the_order()), expected);
    }

    #[test]
    fn an_authorization_that_nobody_signed_has_no_signer() {
        let delegate = alloy_primitives::Address::repeat_byte(7);
        for (parity, s) in
            [("0x2", "0x5"), ("0x0", "0xffffffffffffffffffffffffffffffffbaaedce6af48a03bbfd25e8cd0364140")]
        {
            let json = format!(
                r#"{{"chainId":"0x1","address":"{delegate}","nonce":"0x9","yParity":"{parity}","r":"0x5","s":"{s}"}}"#
            );
            let found = authorization(&raw(&json));
            assert_eq!((found.signer, found.delegate, found.nonce), (None, delegate, 9));
        }
    }
}
