//! The interfaces of standards and of widely used contracts, to decode the calls, logs and errors of contracts that are not
//! verified. A selector has four bytes, and anybody can use any: what is decoded with these interfaces is a guess.

mod parse;

use std::sync::LazyLock;

use crate::{Interface, decode::Decoder};

/// One declaration per line, as in Solidity; `#` begins a comment.
const DECLARATIONS: [&str; 5] = [
    include_str!("standards/tokens.abi"),
    include_str!("standards/exchanges.abi"),
    include_str!("standards/wallets.abi"),
    include_str!("standards/administration.abi"),
    include_str!("standards/views.abi"),
];

/// Decodes what the standards declare.
#[must_use]
pub fn standards() -> &'static Decoder {
    static STANDARDS: LazyLock<Decoder> = LazyLock::new(|| Decoder::new(interface()));
    &STANDARDS
}

fn interface() -> Interface {
    let mut interface = Interface::default();
    for line in lines() {
        match parse::declaration(line) {
            Some(parse::Declaration::Function(function)) => interface.functions.push(function),
            Some(parse::Declaration::Event(event)) => interface.events.push(event),
            Some(parse::Declaration::Error(error)) => interface.errors.push(error),
            None => tracing::error!(line, "a declaration of a standard is not valid"),
        }
    }
    interface
}

fn lines() -> impl Iterator<Item = &'static str> {
    DECLARATIONS
        .into_iter()
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use alloy_primitives::hex;

    use super::*;

    #[test]
    fn every_line_is_a_declaration_and_none_is_repeated() {
        let mut seen = HashSet::new();
        for line in lines() {
            assert!(parse::declaration(line).is_some(), "{line}");
            assert!(seen.insert(line), "{line} is repeated");
        }
        let interface = interface();
        let mut signatures = HashSet::new();
        for function in &interface.functions {
            assert!(signatures.insert(function.signature()), "{} is declared twice", function.signature());
        }
    }

    /// Selectors and topics as seen on public chains.
    #[test]
    fn selectors_and_topics_are_those_in_use() {
        let interface = interface();
        for (name, selector) in [
            ("transfer", "a9059cbb"),
            ("transferFrom", "23b872dd"),
            ("approve", "095ea7b3"),
            ("setApprovalForAll", "a22cb465"),
            ("mint", "40c10f19"),
            ("balanceOf", "70a08231"),
            ("balanceOf", "00fdd58e"),
            ("getReserves", "0902f1ac"),
            ("getPair", "e6a43905"),
            ("slot0", "3850c7bd"),
            ("latestRoundData", "feaf968c"),
            ("isValidSignature", "1626ba7e"),
            ("burn", "42966c68"),
            ("permit", "d505accf"),
            ("permit", "8fcbaf0c"),
            ("safeTransferFrom", "42842e0e"),
            ("safeTransferFrom", "b88d4fde"),
            ("safeTransferFrom", "f242432a"),
            ("safeBatchTransferFrom", "2eb2c2d6"),
            ("deposit", "6e553f65"),
            ("redeem", "ba087652"),
            ("deposit", "d0e30db0"),
            ("withdraw", "2e1a7d4d"),
            ("approve", "87517c45"),
            ("permit", "2b67b570"),
            ("permitTransferFrom", "30f28b7a"),
            ("addLiquidity", "e8e33700"),
            ("swapExactTokensForTokens", "38ed1739"),
            ("swapExactETHForTokens", "7ff36ab5"),
            ("swapExactTokensForETH", "18cbafe5"),
            ("swapExactTokensForTokensSupportingFeeOnTransferTokens", "5c11d795"),
            ("swap", "022c0d9f"),
            ("swap", "128acb08"),
            ("exactInputSingle", "414bf389"),
            ("exactInputSingle", "04e45aaf"),
            ("exactInput", "c04b8d59"),
            ("exactInput", "b858183f"),
            ("exactOutputSingle", "db3e2198"),
            ("exactOutputSingle", "5023b4df"),
            ("mint", "88316456"),
            ("collect", "fc6f7865"),
            ("execute", "3593564c"),
            ("execute", "24856bc3"),
            ("handleOps", "1fad948c"),
            ("handleOps", "765e827f"),
            ("execTransaction", "6a761202"),
            ("createProxyWithNonce", "1688f0b9"),
            ("multicall", "ac9650d8"),
            ("multicall", "5ae401dc"),
            ("aggregate3", "82ad56cb"),
            ("tryAggregate", "bce38bd7"),
            ("transferOwnership", "f2fde38b"),
            ("grantRole", "2f2ff15d"),
            ("upgradeToAndCall", "4f1ef286"),
            ("diamondCut", "1f931c1c"),
            ("propose", "7d5e81e2"),
            ("castVote", "56781388"),
            ("setAddr", "d5fa2b00"),
        ] {
            let selector = hex::decode(selector).unwrap();
            let found = interface.functions.iter().find(|function| function.selector().as_slice() == selector);
            assert_eq!(found.map(|found| found.name.as_str()), Some(name), "{}", hex::encode(selector));
        }
        for (name, topic) in [
            ("Transfer", "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"),
            ("Approval", "8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"),
            ("TransferSingle", "c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"),
            ("TransferBatch", "4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"),
            ("Deposit", "e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c"),
            ("Swap", "d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"),
            ("Swap", "c42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67"),
            ("Swap", "19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83"),
            ("Swap", "40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f"),
            ("UserOperationEvent", "49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f"),
            ("OwnershipTransferred", "8be0079c531659141344cd1fd0a4f28419497f9722a3daafe3b4186f6b6457e0"),
            ("Upgraded", "bc7cd75a20ee27fd9adebab32041f755214dbc6bffa90cc0225b39da2e5c2d3b"),
        ] {
            let found = interface.events.iter().find(|event| hex::encode(event.selector()) == topic);
            assert_eq!(found.map(|found| found.name.as_str()), Some(name), "{topic}");
        }
    }
}
