//! Signatures that only a contract can check: ERC-1271, and ERC-6492 for contracts that are not deployed yet.

use std::{sync::LazyLock, time::Duration};

use alloy_primitives::hex;
use domain::{Address, B256};
use node::{CallOutcome, CallRequest, NodeClient, NodeError};

/// Enough to deploy a wallet and to check a signature on a curve without a precompile.
const GAS: u64 = 10_000_000;
const TIMEOUT: Duration = Duration::from_secs(5);

/// Compiled from `contracts/src/SignatureCheck.sol` by `contracts/build`.
static SIGNATURE_CHECK: LazyLock<Vec<u8>> = LazyLock::new(|| {
    hex::decode(include_str!("../../contracts/artifacts/SignatureCheck.hex").trim()).unwrap_or_default()
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalletResponse {
    NoContract,
    Valid,
    Rejected,
}

/// Calls the contract at an address to check a signature of a digest.
pub(super) async fn check(
    node: &NodeClient,
    wallet: Address,
    digest: B256,
    signature: &[u8],
) -> Result<WalletResponse, NodeError> {
    let request = CallRequest {
        from: None,
        to: None,
        data: call_data(wallet, digest, signature).into(),
        gas: GAS,
        timeout: TIMEOUT,
    };
    match node.call(&request).await? {
        CallOutcome::Returned(output) => Ok(parse_response(&output)),
        // The deployment in the signature fails or takes too much gas.
        CallOutcome::Failed(_) => Ok(WalletResponse::Rejected),
    }
}

/// The code of the checking contract, followed by the three arguments of its constructor.
fn call_data(wallet: Address, digest: B256, signature: &[u8]) -> Vec<u8> {
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

fn parse_response(output: &[u8]) -> WalletResponse {
    match output {
        [zeros @ .., last] if output.len() == 32 && zeros.iter().all(|byte| *byte == 0) => match last {
            0 => WalletResponse::NoContract,
            1 => WalletResponse::Valid,
            _ => WalletResponse::Rejected,
        },
        _ => WalletResponse::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_data_is_the_code_and_its_arguments() {
        let code = SIGNATURE_CHECK.len();
        assert!(code > 500);
        let data = call_data(Address::repeat_byte(0xaa), B256::repeat_byte(0xbb), &[0xcc; 33]);
        assert_eq!(data.len(), code + 4 * 32 + 64);
        assert_eq!(data[code..code + 32], Address::repeat_byte(0xaa).into_word()[..]);
        assert_eq!(data[code + 32..code + 64], [0xbb; 32]);
        assert_eq!(data[code + 95], 0x60);
        assert_eq!(data[code + 127], 33);
        assert_eq!(data[code + 128..code + 161], [0xcc; 33]);
        assert!(data[code + 161..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn only_the_word_1_is_valid() {
        assert_eq!(parse_response(&word(0)), WalletResponse::NoContract);
        assert_eq!(parse_response(&word(1)), WalletResponse::Valid);
        for output in [&word(2)[..], &word(257), &[1], &[], &[1; 32], &[0; 64]] {
            assert_eq!(parse_response(output), WalletResponse::Rejected);
        }
    }
}
