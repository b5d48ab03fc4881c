use std::fmt;

use alloy_primitives::{Address, B256, Signature, eip191_hash_message};
use k256::ecdsa::SigningKey;

/// A private key with its address.
#[derive(Clone)]
pub struct Signer {
    key: SigningKey,
    address: Address,
}

/// Without the key.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Signer {
    /// None if the bytes are no private key: zero, or at least the order of the curve.
    #[must_use]
    pub fn from_bytes(key: &B256) -> Option<Self> {
        let key = SigningKey::from_slice(key.as_slice()).ok()?;
        Some(Self { address: Address::from_private_key(&key), key })
    }

    /// The private key.
    #[must_use]
    pub fn to_bytes(&self) -> B256 {
        B256::from_slice(&self.key.to_bytes())
    }

    #[must_use]
    pub fn address(&self) -> Address {
        self.address
    }

    /// # Errors
    /// If no signature exists for the hash, which does not happen in practice.
    pub fn sign_hash(&self, hash: &B256) -> Result<Signature, k256::ecdsa::Error> {
        self.key.sign_prehash_recoverable(hash.as_slice()).map(Signature::from)
    }

    /// Signs a text as wallets do (EIP-191).
    ///
    /// # Errors
    /// Like [`Signer::sign_hash`].
    pub fn sign_message(&self, text: &str) -> Result<Signature, k256::ecdsa::Error> {
        self.sign_hash(&eip191_hash_message(text))
    }
}
