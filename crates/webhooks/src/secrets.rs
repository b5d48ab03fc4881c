//! Signing secrets of webhooks, encrypted at rest with a key that is not in the store.

use std::{fmt, io::Write, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{Address, SealedSecret, UnixMillis, Webhook};
use rand::RngCore;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

const PREFIX: &str = "whsec_";
const SECRET_BYTES: usize = 32;
const KEY_BYTES: usize = 32;

/// The secret that a receiver verifies signatures with: `whsec_` and base64. Never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(crate) fn generate() -> Self {
        let mut bytes = [0; SECRET_BYTES];
        rand::rng().fill_bytes(&mut bytes);
        Self::from_bytes(&bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self(format!("{PREFIX}{}", STANDARD.encode(bytes)))
    }

    /// The plain secret, shown to its owner once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The decoded key bytes.
    pub(crate) fn key_bytes(&self) -> Vec<u8> {
        STANDARD.decode(self.0.trim_start_matches(PREFIX)).unwrap_or_default()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

/// The key that encrypts secrets at rest.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey([u8; KEY_BYTES]);

#[derive(Debug, thiserror::Error)]
pub enum EncryptionKeyError {
    #[error("the webhook encryption key must be {} hexadecimal digits", 2 * KEY_BYTES)]
    Malformed,
    #[error("cannot read or write the webhook key file")]
    File(#[from] std::io::Error),
}

impl EncryptionKey {
    /// The name of its file in the data folder.
    pub const FILE: &str = "webhook-secrets.key";

    /// Reads the key from the data folder, or creates one.
    ///
    /// # Errors
    /// If the file cannot be read or written, or does not contain a key.
    pub fn load_or_create(folder: &Path) -> Result<Self, EncryptionKeyError> {
        let path = folder.join(Self::FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => text.trim().parse(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut key = [0; KEY_BYTES];
                rand::rng().fill_bytes(&mut key);
                std::fs::create_dir_all(folder)?;
                write_private_file(&path, &hex(&key))?;
                Ok(Self(key))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Writes a file atomically and durably, readable only by its owner.
fn write_private_file(path: &Path, text: &str) -> std::io::Result<()> {
    let temporary = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl std::str::FromStr for EncryptionKey {
    type Err = EncryptionKeyError;

    fn from_str(text: &str) -> Result<Self, EncryptionKeyError> {
        if text.len() != 2 * KEY_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(EncryptionKeyError::Malformed);
        }
        let mut key = [0; KEY_BYTES];
        for (byte, start) in key.iter_mut().zip((0..).step_by(2)) {
            let digits = text.get(start..start + 2).unwrap_or_default();
            *byte = u8::from_str_radix(digits, 16).map_err(|_| EncryptionKeyError::Malformed)?;
        }
        Ok(Self(key))
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(redacted)")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("a webhook secret was sealed with another key, or is damaged")]
    OtherKey,
    #[error("cannot encrypt a webhook secret")]
    EncryptionFailed,
}

/// Encrypts and decrypts secrets.
#[derive(Clone)]
pub struct Vault {
    key: std::sync::Arc<LessSafeKey>,
}

impl Vault {
    /// # Errors
    /// Never for a key of the right length, which every [`EncryptionKey`] has.
    pub fn new(key: &EncryptionKey) -> Result<Self, VaultError> {
        let key = UnboundKey::new(&AES_256_GCM, &key.0).map_err(|_| VaultError::EncryptionFailed)?;
        Ok(Self { key: std::sync::Arc::new(LessSafeKey::new(key)) })
    }

    /// Returns a random nonce and the ciphertext, bound to this owner.
    pub(crate) fn seal(&self, secret: &Secret, owner: &Address) -> Result<SealedSecret, VaultError> {
        let mut nonce = [0; NONCE_LEN];
        rand::rng().fill_bytes(&mut nonce);
        let mut text = secret.0.as_bytes().to_vec();
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(owner.as_slice()), &mut text)
            .map_err(|_| VaultError::EncryptionFailed)?;
        Ok(SealedSecret::new([&nonce[..], &text].concat()))
    }

    pub(crate) fn open(&self, sealed: &SealedSecret, owner: &Address) -> Result<Secret, VaultError> {
        let (nonce, text) = sealed.as_bytes().split_first_chunk::<NONCE_LEN>().ok_or(VaultError::OtherKey)?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key.open_in_place(nonce, Aad::from(owner.as_slice()), &mut text);
        let opened = opened.map_err(|_| VaultError::OtherKey)?;
        Ok(Secret(String::from_utf8(opened.to_vec()).map_err(|_| VaultError::OtherKey)?))
    }

    /// The secrets that sign a webhook's messages, newest first.
    pub(crate) fn secrets_of(&self, webhook: &Webhook) -> Result<Secrets, VaultError> {
        let retired = webhook.retired_secrets.iter();
        let retired = retired.map(|old| Ok::<_, VaultError>((self.open(&old.secret, &webhook.owner)?, old.until)));
        let retired = retired.collect::<Result<_, _>>()?;
        Ok(Secrets { current: self.open(&webhook.secret, &webhook.owner)?, retired })
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault")
    }
}

/// The decrypted secrets of one webhook.
#[derive(Debug, Clone)]
pub(crate) struct Secrets {
    pub(crate) current: Secret,
    retired: Vec<(Secret, UnixMillis)>,
}

impl Secrets {
    /// Retired secrets that are still valid.
    pub(crate) fn retired(&self, now: UnixMillis) -> impl Iterator<Item = &Secret> {
        self.retired.iter().filter(move |(_, until)| now < *until).map(|(secret, _)| secret)
    }

    #[cfg(test)]
    pub(crate) fn of(current: Secret, retired: Vec<(Secret, UnixMillis)>) -> Self {
        Self { current, retired }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_opens_only_with_its_key_and_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(&EncryptionKey::load_or_create(folder.path()).unwrap()).unwrap();
        let (owner, other) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let secret = Secret::generate();
        let sealed = vault.seal(&secret, &owner).unwrap();
        assert_ne!(sealed, vault.seal(&secret, &owner).unwrap(), "the nonce is random");
        assert!(
            !sealed.as_bytes().windows(8).any(|bytes| secret.reveal().as_bytes().windows(8).any(|part| part == bytes))
        );
        assert_eq!(vault.open(&sealed, &owner).unwrap(), secret);
        assert!(matches!(vault.open(&sealed, &other), Err(VaultError::OtherKey)));

        let mut damaged = sealed.as_bytes().to_vec();
        damaged[20] ^= 1;
        assert!(vault.open(&SealedSecret::new(damaged), &owner).is_err());
        assert!(vault.open(&SealedSecret::new(vec![1, 2]), &owner).is_err());
        let other_vault = Vault::new(&"ab".repeat(32).parse().unwrap()).unwrap();
        assert!(matches!(other_vault.open(&sealed, &owner), Err(VaultError::OtherKey)));
    }

    #[test]
    fn the_key_file_is_created_once_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let created = EncryptionKey::load_or_create(folder.path()).unwrap();
        assert_eq!(EncryptionKey::load_or_create(folder.path()).unwrap(), created);
        let file = folder.path().join(EncryptionKey::FILE);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::write(&file, "nonsense").unwrap();
        assert!(matches!(EncryptionKey::load_or_create(folder.path()), Err(EncryptionKeyError::Malformed)));
    }

    #[test]
    fn secrets_have_the_documented_format_and_are_redacted_in_debug_output() {
        let secret = Secret::generate();
        assert!(secret.reveal().starts_with("whsec_"));
        assert_eq!(secret.key_bytes().len(), 32);
        assert_ne!(Secret::generate(), secret);
        assert_eq!(format!("{secret:?}"), "Secret(redacted)");
        assert_eq!(format!("{:?}", EncryptionKey([7; 32])), "EncryptionKey(redacted)");
    }
}
