use domain::{Address, UnixMillis};

use super::{
    proof_error::{ProofError, WrongText},
    signature::{Digests, SignatureBytes},
};

/// Maximum difference between the signed time and now, in both directions.
const TOLERANCE_MILLIS: u64 = 5 * 60 * 1_000;
/// Timestamps in milliseconds are larger than this; those in seconds are smaller for another 3,000 years.
const MAX_SECONDS: u64 = 100_000_000_000;

/// The content of the message that the owner of an address signs to get a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) owner: Address,
    pub(crate) signed_at: UnixMillis,
}

/// Who signed, as far as the signature alone shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signer {
    Owner,
    /// Not the owner's private key. A contract at the owner's address may still accept the signature; if there is none, this
    /// is the error.
    Other(ProofError),
    /// A contract that is not deployed yet (ERC-6492).
    UndeployedContract,
}

impl Proof {
    pub(crate) fn message(&self) -> String {
        format!("Explorer API Key Request\nAddress: {:#x}\nTimestamp: {}", self.owner, self.signed_at)
    }

    pub(super) fn digests(&self) -> Digests {
        Digests::of(&self.message())
    }

    pub(crate) fn check_time(&self, now: UnixMillis) -> Result<(), ProofError> {
        match self.signed_at {
            seconds if seconds < MAX_SECONDS => Err(ProofError::Seconds),
            then if then.saturating_add(TOLERANCE_MILLIS) < now => Err(ProofError::Expired),
            then if then > now.saturating_add(TOLERANCE_MILLIS) => Err(ProofError::InFuture),
            _ => Ok(()),
        }
    }

    /// Finds out who signed.
    pub(super) fn signer(&self, signature: &SignatureBytes) -> Signer {
        if signature.is_erc_6492() {
            return Signer::UndeployedContract;
        }
        let mut signers = match signature.recover_signers(&self.digests()) {
            Ok(signers) => signers.peekable(),
            Err(error) => return Signer::Other(error),
        };
        match signers.peek().copied() {
            None => Signer::Other(ProofError::Scalars),
            Some(signer) if signers.all(|signer| signer != self.owner) => {
                let wrong_text = self.find_wrong_text(signature).map(ProofError::WrongText);
                Signer::Other(wrong_text.unwrap_or(ProofError::OtherSigner { signer }))
            }
            Some(_) => Signer::Owner,
        }
    }

    /// Finds the common mistake that the owner made in the signed text, if any.
    fn find_wrong_text(&self, signature: &SignatureBytes) -> Option<WrongText> {
        let Self { owner, signed_at } = *self;
        let text = |address: &str, separator: &str, time: u64| {
            format!("Explorer API Key Request{separator}Address: {address}{separator}Timestamp: {time}")
        };
        let lower = format!("{owner:#x}");
        let wrong_texts = [
            (WrongText::MixedCaseAddress, text(&owner.to_checksum(None), "\n", signed_at)),
            (WrongText::MixedCaseAddress, text(&format!("0x{:X}", owner), "\n", signed_at)),
            (WrongText::CarriageReturns, text(&lower, "\r\n", signed_at)),
            (WrongText::TrailingLineFeed, format!("{}\n", self.message())),
            (WrongText::EscapedLineFeeds, text(&lower, "\\n", signed_at)),
            (WrongText::SecondsInText, text(&lower, "\n", signed_at / 1_000)),
        ];
        let is_signed = |text: &str| {
            signature.recover_signers(&Digests::of(text)).is_ok_and(|mut signers| signers.any(|signer| signer == owner))
        };
        wrong_texts.into_iter().find(|(_, text)| is_signed(text)).map(|(kind, _)| kind)
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, Signature, eip191_hash_message, keccak256, uint};
    use k256::ecdsa::SigningKey;

    use super::*;

    const SIGNED_AT: u64 = 1_800_000_000_123;

    const OWNER: &str = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
    const NOW: u64 = 1_800_000_000_000;

    fn proof(signed_at: u64) -> Proof {
        Proof { owner: OWNER.parse().unwrap(), signed_at }
    }

    #[test]
    fn the_message_is_three_lines_with_the_address_in_lower_case() {
        assert_eq!(
            proof(1_700_000_000_123).message(),
            "Explorer API Key Request\nAddress: 0xd8da6bf26964af9d7eed9e03e53415d37aa96045\nTimestamp: 1700000000123"
        );
    }

    #[test]
    fn a_difference_of_up_to_five_minutes_is_allowed() {
        for signed_at in [NOW, NOW - 300_000, NOW + 300_000] {
            assert_eq!(proof(signed_at).check_time(NOW), Ok(()));
        }
        assert_eq!(proof(NOW - 300_001).check_time(NOW), Err(ProofError::Expired));
        assert_eq!(proof(NOW + 300_001).check_time(NOW), Err(ProofError::InFuture));
        assert_eq!(proof(u64::MAX).check_time(NOW), Err(ProofError::InFuture));
    }

    #[test]
    fn a_timestamp_in_seconds_has_its_own_error() {
        assert_eq!(proof(NOW / 1_000).check_time(NOW), Err(ProofError::Seconds));
        assert_eq!(proof(0).check_time(NOW), Err(ProofError::Seconds));
    }

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_bytes(&[byte; 32].into()).unwrap()
    }

    fn proof_by(key: &SigningKey) -> Proof {
        Proof { owner: Address::from_private_key(key), signed_at: SIGNED_AT }
    }

    fn sign(key: &SigningKey, digest: B256) -> Signature {
        let (signature, id) = key.sign_prehash_recoverable(digest.as_slice()).unwrap();
        Signature::from_signature_and_parity(signature, id.is_y_odd())
    }

    fn signature(bytes: &[u8]) -> SignatureBytes {
        SignatureBytes::parse(&alloy_primitives::hex::encode(bytes)).unwrap()
    }

    fn bytes(signed: &Signature, v: [u8; 2]) -> SignatureBytes {
        let mut bytes = signed.as_bytes().to_vec();
        bytes[64] = v[usize::from(signed.v())];
        signature(&bytes)
    }

    fn personal(key: &SigningKey, text: &str) -> SignatureBytes {
        bytes(&sign(key, eip191_hash_message(text)), [27, 28])
    }

    #[test]
    fn all_encodings_of_the_owners_signature_are_accepted() {
        for byte in 1..40 {
            let key = key(byte);
            let proof = proof_by(&key);
            for digest in [eip191_hash_message(proof.message()), keccak256(proof.message())] {
                let signed = sign(&key, digest);
                for written in [bytes(&signed, [27, 28]), bytes(&signed, [0, 1]), signature(&signed.as_erc2098())] {
                    assert_eq!(proof.signer(&written), Signer::Owner, "key {byte}, {} bytes", written.as_bytes().len());
                }
            }
        }
    }

    #[test]
    fn a_signature_with_a_high_s_is_rejected() {
        let key = key(1);
        let proof = proof_by(&key);
        let signed = sign(&key, eip191_hash_message(proof.message()));
        let order = uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);
        let twin = Signature::new(signed.r(), order - signed.s(), !signed.v());
        assert_eq!(proof.signer(&bytes(&twin, [27, 28])), Signer::Other(ProofError::HighS));
        assert_eq!(proof.signer(&bytes(&twin, [0, 1])), Signer::Other(ProofError::HighS));
    }

    #[test]
    fn another_signer_and_common_mistakes_in_the_text_are_reported() {
        let (ours, theirs) = (key(1), key(2));
        let proof = proof_by(&ours);
        let other = Signer::Other(ProofError::OtherSigner { signer: Address::from_private_key(&theirs) });
        assert_eq!(proof.signer(&personal(&theirs, &proof.message())), other);

        let tampered = proof.signer(&personal(&ours, &proof.message().replace("Key", "key")));
        assert!(matches!(tampered, Signer::Other(ProofError::OtherSigner { .. })), "{tampered:?}");

        let lower = format!("{:#x}", proof.owner);
        let message = proof.message();
        let expected = |text| Signer::Other(ProofError::WrongText(text));
        for (text, kind) in [
            (message.replace(&lower, &proof.owner.to_checksum(None)), WrongText::MixedCaseAddress),
            (message.replace(&lower, &lower.to_uppercase().replace("0X", "0x")), WrongText::MixedCaseAddress),
            (message.replace('\n', "\r\n"), WrongText::CarriageReturns),
            (message.replace('\n', "\\n"), WrongText::EscapedLineFeeds),
            (format!("{message}\n"), WrongText::TrailingLineFeed),
            (message.replace(&SIGNED_AT.to_string(), "1800000000"), WrongText::SecondsInText),
        ] {
            assert_eq!(proof.signer(&personal(&ours, &text)), expected(kind), "{text:?}");
        }
    }

    #[test]
    fn an_invalid_signature_is_rejected_with_its_reason() {
        let proof = proof_by(&key(1));
        let signer = |bytes: Vec<u8>| proof.signer(&signature(&bytes));
        assert_eq!(signer(vec![]), Signer::Other(ProofError::Length { length: 0 }));
        assert_eq!(signer(vec![1; 66]), Signer::Other(ProofError::Length { length: 66 }));
        assert_eq!(signer(vec![0; 65]), Signer::Other(ProofError::Scalars));
        assert_eq!(signer([vec![0xff; 64], vec![27]].concat()), Signer::Other(ProofError::Scalars));
        for v in [2, 26, 29, 37, 255] {
            let written = [vec![1; 64], vec![v]].concat();
            assert_eq!(signer(written), Signer::Other(ProofError::RecoveryByte(v)));
        }
        assert_eq!(signer([vec![7; 40], [0x64, 0x92].repeat(16)].concat()), Signer::UndeployedContract);
    }
}
