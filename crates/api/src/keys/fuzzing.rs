use alloy_primitives::{Signature, U256, hex};
use domain::Address;

use super::{
    proof::{Proof, Signer},
    proof_error::ProofError,
    signature::SignatureBytes,
    text::KeyText,
};

/// A time, the address of an owner, and a signature, each a line of text. Wallets sign the address and the time.
pub fn signature(data: &[u8]) {
    key(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.splitn(3, '\n');
    let (Some(time), Some(owner), Some(text)) = (lines.next(), lines.next(), lines.next()) else { return };
    let proof = Proof {
        signed_at: time.parse().unwrap_or_default(),
        owner: owner.parse().unwrap_or_else(|_| Address::repeat_byte(1)),
    };
    let _ = proof.check_time(1_800_000_000_000);
    let Ok(signature) = SignatureBytes::parse(text) else { return };
    let bytes = signature.as_bytes();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    assert_eq!(hex::encode(bytes), digits.to_ascii_lowercase(), "every digit counts, and nothing else is read");
    assert_eq!(SignatureBytes::parse(&hex::encode_prefixed(bytes)).as_ref(), Ok(&signature));
    let signer = proof.signer(&signature);
    let digests = proof.digests();
    let recovered = second_reading(bytes)
        .map(|read| [digests.personal, digests.bare].map(|digest| read.recover_address_from_prehash(&digest).ok()));
    let by_owner = recovered.is_some_and(|signers| signers.contains(&Some(proof.owner)));
    match signer {
        Signer::Owner => assert!(by_owner, "an owner who did not sign"),
        Signer::Other(ProofError::HighS) => assert_eq!(recovered, None),
        Signer::Other(_) => assert!(!by_owner, "an owner who did sign: {signer:?}"),
        Signer::UndeployedContract => assert!(bytes.len() >= 32),
    }
    let signers: Vec<Address> = signature.recover_signers(&digests).into_iter().flatten().collect();
    assert_eq!(signers, recovered.into_iter().flatten().flatten().collect::<Vec<_>>());
}

/// The signature by the parser of another crate, where it is one with a low s.
fn second_reading(bytes: &[u8]) -> Option<Signature> {
    let read = match bytes.len() {
        65 if matches!(bytes[64], 0 | 1 | 27 | 28) => Signature::from_raw(bytes).ok()?,
        64 => Signature::from_erc2098(bytes),
        _ => return None,
    };
    let scalars = read.r() != U256::ZERO && read.s() != U256::ZERO;
    // Whether r and s are below the order is found out by the curve itself.
    let sound = scalars && read.normalize_s().is_none() && read.to_k256().is_ok();
    sound.then_some(read)
}

/// A key is refused, or is what was sent; one with another character is not a key.
fn key(text: &[u8]) {
    let Some(key) = KeyText::parse(text) else { return };
    assert_eq!(key.reveal().as_bytes(), text);
    assert!(key.reveal().starts_with(key.prefix()) && !format!("{key:?}").contains(key.reveal()));
    for place in 0..text.len() {
        let mut other = text.to_vec();
        other[place] ^= 1;
        assert_eq!(KeyText::parse(&other), None, "the checksum does not tell {place}");
    }
}
