//! Signatures that only a contract can vouch for: ERC-1271, and ERC-6492 where the contract is not deployed yet.

use std::{sync::LazyLock, time::Duration};

use alloy_primitives::hex;
use domain::{Address, B256};
use node::{CallOutcome, CallRequest, NodeClient, NodeError};

/// Enough to deploy a wallet and to check an unusual curve without help of the chain.
const GAS: u64 = 10_000_000;
const PATIENCE: Duration = Duration::from_secs(5);

/// Compiled from `contracts/src/SignatureCheck.sol` by `contracts/build`.
static SIGNATURE_CHECK: LazyLock<Vec<u8>> = LazyLock::new(|| {
    hex::decode(include_str!("../../contracts/artifacts/SignatureCheck.hex").trim()).unwrap_or_default()
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    NoContract,
    Valid,
    Refused,
}

/// Asks the contract at an address whether a signature of a digest is its own.
pub(super) async fn ask(
    node: &NodeClient,
    wallet: Address,
    digest: B256,
    signature: &[u8],
) -> Result<Verdict, NodeError> {
    let request = CallRequest {
        from: None,
        to: None,
        data: question(wallet, digest, signature).into(),
        gas: GAS,
        patience: PATIENCE,
    };
    match node.call(&request).await? {
        CallOutcome::Returned(answer) => Ok(verdict(&answer)),
        // What the signature says to do cannot be done, or takes too much gas.
        CallOutcome::Failed(_) => Ok(Verdict::Refused),
    }
}

/// The code, and after it the three arguments of its constructor.
fn question(wallet: Address, digest: B256, signature: &[u8]) -> Vec<u8> {
    let mut data = SIGNATURE_CHECK.clone();
    data.extend_from_slice(wallet.into_word().as_slice());
    data.extend_from_slice(digest.as_slice());
    data.extend_from_slice(&word(3 * 32));
    data.extend_from_slice(&word(signature.len()));
    data.extend_from_slice(signature);
    data.resize(data.len() + signature.len().next_multiple_of(32) - signature.len(), 0);
    data
}

fn word(number: usize) -> [u8; 32] {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&(number as u64).to_be_bytes());
    word
}

fn verdict(answer: &[u8]) -> Verdict {
    match answer {
        [zeros @ .., last] if answer.len() == 32 && zeros.iter().all(|byte| *byte == 0) => match last {
            0 => Verdict::NoContract,
            1 => Verdict::Valid,
            _ => Verdict::Refused,
        },
        _ => Verdict::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_the_code_and_its_arguments() {
        let code = SIGNATURE_CHECK.len();
        assert!(code > 500);
        let data = question(Address::repeat_byte(0xaa), B256::repeat_byte(0xbb), &[0xcc; 33]);
        assert_eq!(data.len(), code + 4 * 32 + 64);
        assert_eq!(data[code..code + 32], Address::repeat_byte(0xaa).into_word()[..]);
        assert_eq!(data[code + 32..code + 64], [0xbb; 32]);
        assert_eq!(data[code + 95], 0x60);
        assert_eq!(data[code + 127], 33);
        assert_eq!(data[code + 128..code + 161], [0xcc; 33]);
        assert!(data[code + 161..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn only_the_number_one_is_a_yes() {
        assert_eq!(verdict(&word(0)), Verdict::NoContract);
        assert_eq!(verdict(&word(1)), Verdict::Valid);
        for answer in [&word(2)[..], &word(257), &[1], &[], &[1; 32], &[0; 64]] {
            assert_eq!(verdict(answer), Verdict::Refused);
        }
    }
}
