use std::fmt;

use alloy_primitives::{Signature, U256, hex, uint};
use domain::Address;

use super::{
    fault::ProofFault,
    proof::{Digests, Proof},
};

/// Signatures of contract wallets may be long: several signers, or what is needed to deploy the wallet.
const MAX_BYTES: usize = 16 * 1024;
/// Half the order of the curve: of a signature and its twin, the one with the smaller s is the signature.
const HALF_ORDER: U256 = uint!(0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0_U256);
const ORDER: U256 = uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);
/// How ERC-6492 marks the signature of a wallet that is not deployed yet.
const NOT_YET_DEPLOYED: [u8; 32] = hex!("6492649264926492649264926492649264926492649264926492649264926492");

/// A signature as it was sent. Who has it might use it again elsewhere, hence it is never in a log.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SignatureBytes(Vec<u8>);

/// Who signed, as far as the signature itself can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// The owner's own key did.
    ByOwner,
    /// No key of the owner's did. A contract at that address may still vouch for it; where there is none, this is why it
    /// is refused.
    NotByOwner(ProofFault),
    /// The signature says that it is a contract's.
    ByContract,
}

impl SignatureBytes {
    pub(crate) fn parse(text: &str) -> Result<Self, ProofFault> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.len() > 2 * MAX_BYTES {
            return Err(ProofFault::TooLong { max: MAX_BYTES });
        }
        // The decoder would pass over a second 0x.
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ProofFault::NotHex);
        }
        hex::decode(digits).map(Self).map_err(|_| ProofFault::NotHex)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Judges the signature by what it is over and whose it should be.
    pub(super) fn judge(&self, proof: &Proof) -> Finding {
        if self.0.ends_with(&NOT_YET_DEPLOYED) {
            return Finding::ByContract;
        }
        if let Err(fault) = self.ecdsa() {
            return Finding::NotByOwner(fault);
        }
        let mut signers = self.signers(&proof.digests()).peekable();
        match signers.peek().copied() {
            None => Finding::NotByOwner(ProofFault::Scalars),
            Some(signer) if signers.all(|signer| signer != proof.owner) => {
                let other_text = proof.explain(self).map(ProofFault::OtherText);
                Finding::NotByOwner(other_text.unwrap_or(ProofFault::OtherSigner { signer }))
            }
            Some(_) => Finding::ByOwner,
        }
    }

    /// The accounts whose signature of one or the other digest this would be: of the personal one first.
    pub(super) fn signers(&self, digests: &Digests) -> impl Iterator<Item = Address> + use<> {
        let signature = self.ecdsa().ok();
        let recover = move |digest| signature.and_then(|signature| signature.recover_address_from_prehash(digest).ok());
        [recover(&digests.personal), recover(&digests.bare)].into_iter().flatten()
    }

    /// Reads r, s and v in each of the ways in which they are written.
    fn ecdsa(&self) -> Result<Signature, ProofFault> {
        let (r, s, odd) = match *self.0.as_slice() {
            [ref scalars @ .., v] if scalars.len() == 64 => {
                let odd = match v {
                    0 | 27 => false,
                    1 | 28 => true,
                    other => return Err(ProofFault::RecoveryByte(other)),
                };
                (U256::from_be_slice(&scalars[..32]), U256::from_be_slice(&scalars[32..]), odd)
            }
            // EIP-2098: the parity stands in the highest bit of s, which a low s leaves free.
            ref scalars if scalars.len() == 64 => {
                let s = U256::from_be_slice(&scalars[32..]);
                (U256::from_be_slice(&scalars[..32]), s & (U256::MAX >> 1), s.bit(255))
            }
            ref other => return Err(ProofFault::Length { length: other.len() }),
        };
        let is_scalar = |number: U256| !number.is_zero() && number < ORDER;
        if !is_scalar(r) || !is_scalar(s) {
            return Err(ProofFault::Scalars);
        }
        if s > HALF_ORDER {
            return Err(ProofFault::HighS);
        }
        Ok(Signature::new(r, s, odd))
    }
}

impl fmt::Debug for SignatureBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignatureBytes({} bytes, redacted)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, eip191_hash_message, keccak256};
    use k256::ecdsa::SigningKey;

    use super::*;
    use crate::keys::fault::OtherText;

    const SIGNED_AT: u64 = 1_800_000_000_123;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_bytes(&[byte; 32].into()).unwrap()
    }

    fn proof_of(key: &SigningKey) -> Proof {
        Proof { owner: Address::from_private_key(key), signed_at: SIGNED_AT }
    }

    fn sign(key: &SigningKey, digest: B256) -> Signature {
        let (signature, id) = key.sign_prehash_recoverable(digest.as_slice()).unwrap();
        Signature::from_signature_and_parity(signature, id.is_y_odd())
    }

    fn bytes(signature: &Signature, v: [u8; 2]) -> SignatureBytes {
        let mut bytes = signature.as_bytes().to_vec();
        bytes[64] = v[usize::from(signature.v())];
        SignatureBytes(bytes)
    }

    fn personal(key: &SigningKey, text: &str) -> SignatureBytes {
        bytes(&sign(key, eip191_hash_message(text)), [27, 28])
    }

    #[test]
    fn every_way_of_writing_the_owner_s_signature_is_read() {
        for byte in 1..40 {
            let key = key(byte);
            let proof = proof_of(&key);
            for digest in [eip191_hash_message(proof.message()), keccak256(proof.message())] {
                let signature = sign(&key, digest);
                for written in [
                    bytes(&signature, [27, 28]),
                    bytes(&signature, [0, 1]),
                    SignatureBytes(signature.as_erc2098().to_vec()),
                ] {
                    assert_eq!(written.judge(&proof), Finding::ByOwner, "key {byte}, {} bytes", written.0.len());
                }
            }
        }
    }

    #[test]
    fn the_altered_twin_of_a_signature_is_refused() {
        let key = key(1);
        let proof = proof_of(&key);
        let signature = sign(&key, eip191_hash_message(proof.message()));
        let twin = Signature::new(signature.r(), ORDER - signature.s(), !signature.v());
        assert_eq!(bytes(&twin, [27, 28]).judge(&proof), Finding::NotByOwner(ProofFault::HighS));
        assert_eq!(bytes(&twin, [0, 1]).judge(&proof), Finding::NotByOwner(ProofFault::HighS));
    }

    #[test]
    fn another_signer_and_another_text_are_told_as_far_as_they_can_be() {
        let (ours, theirs) = (key(1), key(2));
        let proof = proof_of(&ours);
        let other = Finding::NotByOwner(ProofFault::OtherSigner { signer: Address::from_private_key(&theirs) });
        assert_eq!(personal(&theirs, &proof.message()).judge(&proof), other);

        let tampered = personal(&ours, &proof.message().replace("Key", "key")).judge(&proof);
        assert!(matches!(tampered, Finding::NotByOwner(ProofFault::OtherSigner { .. })), "{tampered:?}");

        let lower = format!("{:#x}", proof.owner);
        let message = proof.message();
        let expected = |text| Finding::NotByOwner(ProofFault::OtherText(text));
        for (text, kind) in [
            (message.replace(&lower, &proof.owner.to_checksum(None)), OtherText::MixedCaseAddress),
            (message.replace(&lower, &lower.to_uppercase().replace("0X", "0x")), OtherText::MixedCaseAddress),
            (message.replace('\n', "\r\n"), OtherText::CarriageReturns),
            (message.replace('\n', "\\n"), OtherText::EscapedLineFeeds),
            (format!("{message}\n"), OtherText::TrailingLineFeed),
            (message.replace(&SIGNED_AT.to_string(), "1800000000"), OtherText::SecondsInText),
        ] {
            assert_eq!(personal(&ours, &text).judge(&proof), expected(kind), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_signature_is_refused_for_what_it_is() {
        let proof = proof_of(&key(1));
        let judge = |bytes: Vec<u8>| SignatureBytes(bytes).judge(&proof);
        assert_eq!(judge(vec![]), Finding::NotByOwner(ProofFault::Length { length: 0 }));
        assert_eq!(judge(vec![1; 66]), Finding::NotByOwner(ProofFault::Length { length: 66 }));
        assert_eq!(judge(vec![0; 65]), Finding::NotByOwner(ProofFault::Scalars));
        assert_eq!(judge([vec![0xff; 64], vec![27]].concat()), Finding::NotByOwner(ProofFault::Scalars));
        for v in [2, 26, 29, 37, 255] {
            let written = [vec![1; 64], vec![v]].concat();
            assert_eq!(judge(written), Finding::NotByOwner(ProofFault::RecoveryByte(v)));
        }
        assert_eq!(judge([vec![7; 40], NOT_YET_DEPLOYED.to_vec()].concat()), Finding::ByContract);
    }

    #[test]
    fn hex_is_read_with_and_without_0x_and_nothing_else_is() {
        assert_eq!(SignatureBytes::parse("0x0aFF"), SignatureBytes::parse("0Aff"));
        for text in ["0x0", "zz", "0x0x00", " 00", "0X00"] {
            assert_eq!(SignatureBytes::parse(text), Err(ProofFault::NotHex), "{text}");
        }
        let long = "0".repeat(2 * MAX_BYTES + 2);
        assert_eq!(SignatureBytes::parse(&long), Err(ProofFault::TooLong { max: MAX_BYTES }));
    }

    #[test]
    fn a_signature_does_not_show_itself() {
        assert_eq!(format!("{:?}", SignatureBytes(vec![7; 65])), "SignatureBytes(65 bytes, redacted)");
    }
}
