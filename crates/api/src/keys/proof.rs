use alloy_primitives::{B256, eip191_hash_message, keccak256};
use domain::{Address, UnixMillis};

use super::{
    fault::{OtherText, ProofFault},
    signature::SignatureBytes,
};

/// How far the time in the message may lie from now, either way.
const TOLERANCE_MILLIS: u64 = 5 * 60 * 1_000;
/// Milliseconds have long been beyond this, and seconds will not be for three thousand years.
const LARGEST_SECONDS: u64 = 100_000_000_000;

/// What the owner of an address signs to get a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) owner: Address,
    pub(crate) signed_at: UnixMillis,
}

/// The two hashes that wallets sign for a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digests {
    /// personal_sign (EIP-191), which eth_sign is by now too.
    pub(super) personal: B256,
    /// What eth_sign was at first: the bare hash.
    pub(super) bare: B256,
}

impl Proof {
    pub(crate) fn message(&self) -> String {
        format!("Explorer API Key Request\nAddress: {:#x}\nTimestamp: {}", self.owner, self.signed_at)
    }

    pub(super) fn digests(&self) -> Digests {
        Digests::of(&self.message())
    }

    pub(crate) fn check_time(&self, now: UnixMillis) -> Result<(), ProofFault> {
        match self.signed_at {
            seconds if seconds < LARGEST_SECONDS => Err(ProofFault::Seconds),
            then if then.saturating_add(TOLERANCE_MILLIS) < now => Err(ProofFault::Expired),
            then if then > now.saturating_add(TOLERANCE_MILLIS) => Err(ProofFault::FromTheFuture),
            _ => Ok(()),
        }
    }

    /// Finds out what the owner signed instead, where it is a text that is mistaken for the right one.
    pub(super) fn explain(&self, signature: &SignatureBytes) -> Option<OtherText> {
        let Self { owner, signed_at } = *self;
        let text = |address: &str, end: &str, time: u64| {
            format!("Explorer API Key Request{end}Address: {address}{end}Timestamp: {time}")
        };
        let lower = format!("{owner:#x}");
        let other_texts = [
            (OtherText::MixedCaseAddress, text(&owner.to_checksum(None), "\n", signed_at)),
            (OtherText::MixedCaseAddress, text(&format!("0x{:X}", owner), "\n", signed_at)),
            (OtherText::CarriageReturns, text(&lower, "\r\n", signed_at)),
            (OtherText::TrailingLineFeed, format!("{}\n", self.message())),
            (OtherText::EscapedLineFeeds, text(&lower, "\\n", signed_at)),
            (OtherText::SecondsInText, text(&lower, "\n", signed_at / 1_000)),
        ];
        let signed = |text: &str| signature.signers(&Digests::of(text)).any(|signer| signer == owner);
        other_texts.into_iter().find(|(_, text)| signed(text)).map(|(kind, _)| kind)
    }
}

impl Digests {
    fn of(text: &str) -> Self {
        Self { personal: eip191_hash_message(text), bare: keccak256(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn five_minutes_either_way_are_allowed_and_not_a_moment_more() {
        for signed_at in [NOW, NOW - 300_000, NOW + 300_000] {
            assert_eq!(proof(signed_at).check_time(NOW), Ok(()));
        }
        assert_eq!(proof(NOW - 300_001).check_time(NOW), Err(ProofFault::Expired));
        assert_eq!(proof(NOW + 300_001).check_time(NOW), Err(ProofFault::FromTheFuture));
        assert_eq!(proof(u64::MAX).check_time(NOW), Err(ProofFault::FromTheFuture));
    }

    #[test]
    fn seconds_are_told_from_milliseconds() {
        assert_eq!(proof(NOW / 1_000).check_time(NOW), Err(ProofFault::Seconds));
        assert_eq!(proof(0).check_time(NOW), Err(ProofFault::Seconds));
    }
}
