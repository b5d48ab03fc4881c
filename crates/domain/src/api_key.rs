use std::fmt;

use alloy_primitives::Address;

/// The sequence number of an API key, from 1.
pub type ApiKeyId = u64;

/// Milliseconds since 1970.
pub type UnixMillis = u64;

/// A stored API key, without the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    pub digest: KeyDigest,
    pub owner: Address,
    /// The first characters of the key, so that its owner can recognise it.
    pub prefix: String,
    pub label: String,
    pub requests_per_minute: u32,
    pub total_requests: u64,
    pub created_at: UnixMillis,
    /// The time of creation if the key was never used.
    pub last_used_at: UnixMillis,
    /// False once the key is revoked.
    pub active: bool,
}

/// A key to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiKey {
    pub digest: KeyDigest,
    pub owner: Address,
    pub prefix: String,
    pub label: String,
    pub requests_per_minute: u32,
    pub created_at: UnixMillis,
    /// The time in the message that the owner signed; None for a key that the operator created.
    pub proof: Option<UnixMillis>,
}

impl NewApiKey {
    /// The key as it is stored under an id.
    #[must_use]
    pub fn stored_as(self, id: ApiKeyId) -> ApiKey {
        ApiKey {
            id,
            digest: self.digest,
            owner: self.owner,
            prefix: self.prefix,
            label: self.label,
            requests_per_minute: self.requests_per_minute,
            total_requests: 0,
            created_at: self.created_at,
            last_used_at: self.created_at,
            active: true,
        }
    }
}

/// Requests with a key since the last write to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    pub id: ApiKeyId,
    pub requests: u64,
    pub last_used_at: UnixMillis,
}

/// The SHA-256 of a key. Never shown, not even in a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyDigest(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_redacted() {
        assert_eq!(format!("{:?}", KeyDigest::new([7; 32])), "KeyDigest(redacted)");
    }
}
