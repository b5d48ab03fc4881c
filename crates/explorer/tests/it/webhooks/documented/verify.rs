// With hmac 0.13, sha2 0.11 and hex 0.4.
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub fn verify(secret: &str, body: &[u8], signature: &str) -> bool {
    let Some(given) = signature.strip_prefix("sha256=").and_then(|digits| hex::decode(digits).ok()) else {
        return false;
    };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return false };
    mac.update(body);
    mac.verify_slice(&given).is_ok()
}
