//! Metadata queries of a token. A token may return anything; it is data, never an error.

use domain::{Address, Selector, TokenKind, TokenMetadata, U256};
use node::{CallResult, ContractCall};

use super::text::read_text;
use crate::abi::{call_data, number, word_at};

/// `name()`, `symbol()`, `decimals()`, `totalSupply()`
pub(super) const GETTERS: [Selector; 4] =
    [[0x06, 0xfd, 0xde, 0x03], [0x95, 0xd8, 0x9b, 0x41], [0x31, 0x3c, 0xe5, 0x67], [0x18, 0x16, 0x0d, 0xdd]];

pub(super) fn metadata_calls(token: Address) -> [ContractCall; GETTERS.len()] {
    GETTERS.map(|getter| ContractCall { to: token, data: call_data(getter, &[]) })
}

pub(crate) fn supply_call(token: Address) -> ContractCall {
    let [.., total_supply] = metadata_calls(token);
    total_supply
}

/// Decodes the results of [`GETTERS`]. Invalid ones are those of a contract that has none.
pub(super) fn read_metadata(kind: TokenKind, results: &[CallResult; GETTERS.len()]) -> TokenMetadata {
    let [name, symbol, decimals, total_supply] = results;
    TokenMetadata {
        name: read_text(bytes(name)),
        symbol: read_text(bytes(symbol)),
        // NFTs are indivisible, whatever their contract returns.
        decimals: match kind {
            TokenKind::Bep20 => read_decimals(decimals),
            TokenKind::Bep721 | TokenKind::Bep1155 => Some(0),
        },
        total_supply: read_number(total_supply),
        requested_at: None,
    }
}

fn bytes(result: &CallResult) -> &[u8] {
    match result {
        CallResult::Returned(bytes) => bytes,
        CallResult::Reverted => &[],
    }
}

pub(crate) fn read_number(result: &CallResult) -> Option<U256> {
    word_at(bytes(result), 0).as_ref().map(number)
}

fn read_decimals(result: &CallResult) -> Option<u8> {
    read_number(result).and_then(|number| u8::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;
    use crate::decode::samples::uint;

    fn returned(bytes: impl Into<Vec<u8>>) -> CallResult {
        CallResult::Returned(bytes.into().into())
    }

    fn text(text: &str) -> CallResult {
        let mut bytes = [uint(32), uint(text.len() as u64)].concat();
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        returned(bytes)
    }

    #[test]
    fn each_selector_is_the_hash_of_its_signature() {
        for (selector, signature) in GETTERS.iter().zip(["name()", "symbol()", "decimals()", "totalSupply()"]) {
            assert_eq!(*selector, keccak256(signature)[..4], "{signature}");
        }
    }

    #[test]
    fn a_conforming_token_is_decoded() {
        let results = [text("Wrapped BNB"), text("WBNB"), returned(uint(18)), returned(uint(1_000))];
        let metadata = read_metadata(TokenKind::Bep20, &results);
        assert_eq!(
            (metadata.name.as_str(), metadata.symbol.as_str(), metadata.decimals),
            ("Wrapped BNB", "WBNB", Some(18))
        );
        assert_eq!((metadata.total_supply, metadata.requested_at), (Some(U256::from(1_000)), None));
    }

    #[test]
    fn a_token_that_reverts_or_has_no_code_is_empty() {
        for nothing in [CallResult::Reverted, returned([])] {
            let results = [const { CallResult::Reverted }; 4].map(|_| nothing.clone());
            assert_eq!(read_metadata(TokenKind::Bep20, &results), TokenMetadata::default());
        }
    }

    #[test]
    fn invalid_decimals_are_none() {
        for (result, decimals) in [
            (returned(uint(0)), Some(0)),
            (returned(uint(255)), Some(255)),
            (returned(uint(256)), None),
            (returned([0xff; 32]), None),
            (returned([18]), None),
            (returned([uint(6), uint(9)].concat()), Some(6)),
            (CallResult::Reverted, None),
        ] {
            assert_eq!(read_decimals(&result), decimals, "{result:?}");
        }
    }

    #[test]
    fn nfts_have_no_decimals_and_the_maximum_supply_fits() {
        let results = [text("Kitties"), text("KT"), returned(uint(18)), returned([0xff; 32])];
        for kind in [TokenKind::Bep721, TokenKind::Bep1155] {
            let metadata = read_metadata(kind, &results);
            assert_eq!((metadata.decimals, metadata.total_supply), (Some(0), Some(U256::MAX)));
        }
    }
}
