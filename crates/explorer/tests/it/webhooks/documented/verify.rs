// With hmac 0.13 and sha2 0.11.
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub fn verify(secret: &str, body: &[u8], signature: &str) -> bool {
    let Some(digits) = signature.strip_prefix("sha256=") else { return false };
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let Some(given) = (0..digits.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>() else { return false };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return false };
    mac.update(body);
    mac.verify_slice(&given).is_ok()
}
