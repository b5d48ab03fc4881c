use std::fmt;

use alloy_primitives::{B256, Signature, U256, eip191_hash_message, hex, keccak256, uint};
use domain::Address;

use super::proof_error::ProofError;

/// Signatures of contract wallets may be long: several signers, or the data to deploy the wallet.
const MAX_BYTES: usize = 16 * 1024;
/// Half the order of the curve. Every signature has a second form with a high s; only the form with the low s is accepted.
const HALF_ORDER: U256 = uint!(0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0_U256);
const ORDER: U256 = uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);
/// The suffix that ERC-6492 defines for signatures of wallets that are not deployed yet.
const ERC_6492_SUFFIX: [u8; 32] = hex!("6492649264926492649264926492649264926492649264926492649264926492");

/// A signature as sent by the client. It could be replayed elsewhere, so it is never logged.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SignatureBytes(Vec<u8>);

/// The two hashes that wallets sign for a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digests {
    /// personal_sign (EIP-191), and eth_sign of today's wallets.
    pub(super) personal: B256,
    /// eth_sign of old wallets: the hash of the text alone.
    pub(super) bare: B256,
}

impl Digests {
    pub(super) fn of(text: &str) -> Self {
        Self { personal: eip191_hash_message(text), bare: keccak256(text) }
    }
}

impl SignatureBytes {
    pub(crate) fn parse(text: &str) -> Result<Self, ProofError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.len() > 2 * MAX_BYTES {
            return Err(ProofError::TooLong { max: MAX_BYTES });
        }
        // `hex::decode` would accept a second 0x.
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ProofError::NotHex);
        }
        hex::decode(digits).map(Self).map_err(|_| ProofError::NotHex)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is the signature of a contract wallet that is not deployed yet.
    pub(super) fn is_erc_6492(&self) -> bool {
        self.0.ends_with(&ERC_6492_SUFFIX)
    }

    /// The accounts that would have signed one of the digests: that of the personal one first.
    pub(super) fn recover_signers(
        &self,
        digests: &Digests,
    ) -> Result<impl Iterator<Item = Address> + use<>, ProofError> {
        let signature = self.parse_ecdsa()?;
        let recover = move |digest| signature.recover_address_from_prehash(digest).ok();
        Ok([recover(&digests.personal), recover(&digests.bare)].into_iter().flatten())
    }

    /// Parses r, s and v in all common encodings.
    fn parse_ecdsa(&self) -> Result<Signature, ProofError> {
        let number = |bytes: &[u8; 32]| U256::from_be_bytes(*bytes);
        let (r, s, odd) = match self.0.as_slice().as_chunks::<32>() {
            ([r, s], [v]) => {
                let odd = match *v {
                    0 | 27 => false,
                    1 | 28 => true,
                    other => return Err(ProofError::RecoveryByte(other)),
                };
                (number(r), number(s), odd)
            }
            // EIP-2098: the parity is the highest bit of s, which is unused by a low s.
            ([r, s], []) => {
                let s = number(s);
                (number(r), s & (U256::MAX >> 1), s.bit(255))
            }
            _ => return Err(ProofError::Length { length: self.0.len() }),
        };
        let is_scalar = |number: U256| !number.is_zero() && number < ORDER;
        if !is_scalar(r) || !is_scalar(s) {
            return Err(ProofError::Scalars);
        }
        if s > HALF_ORDER {
            return Err(ProofError::HighS);
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
    use super::*;

    #[test]
    fn hex_is_parsed_with_and_without_0x() {
        assert_eq!(SignatureBytes::parse("0x0aFF"), SignatureBytes::parse("0Aff"));
        for text in ["0x0", "zz", "0x0x00", " 00", "0X00"] {
            assert_eq!(SignatureBytes::parse(text), Err(ProofError::NotHex), "{text}");
        }
        let long = "0".repeat(2 * MAX_BYTES + 2);
        assert_eq!(SignatureBytes::parse(&long), Err(ProofError::TooLong { max: MAX_BYTES }));
    }

    #[test]
    fn debug_does_not_show_the_signature() {
        assert_eq!(format!("{:?}", SignatureBytes(vec![7; 65])), "SignatureBytes(65 bytes, redacted)");
    }
}
