//! Measures how many combinations of settings per second the metadata search tries, for each kind of hash.

#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use domain::B256;
use verification::{
    MetadataHash,
    settings::{EvmVersion, Filling, MetadataSearch, MetadataTemplate, Optimizer, SettingsChoice},
};

const DURATION: Duration = Duration::from_secs(2);

fn main() {
    for kilobytes in [4, 16] {
        let metadata = metadata(kilobytes * 1024);
        let Some(template) = MetadataTemplate::new(&metadata) else { return };
        for (name, wanted) in [
            ("ipfs", MetadataHash::Ipfs(B256::ZERO)),
            ("bzzr0", MetadataHash::Bzzr0(B256::ZERO)),
            ("bzzr1", MetadataHash::Bzzr1(B256::ZERO)),
        ] {
            let rate = measure(MetadataSearch::new(&template, wanted));
            println!("{kilobytes} KiB of metadata, {name}: {rate} candidates per second on one core");
        }
    }
}

fn measure(mut search: MetadataSearch<'_>) -> u128 {
    let (started, mut tried) = (Instant::now(), 0);
    while started.elapsed() < DURATION {
        for runs in 0..100 {
            let evm_version = EvmVersion::ALL.get(usize::from(runs % 14_u8)).copied();
            let choice = SettingsChoice { optimizer: Optimizer::on(runs.into()), evm_version, via_ir: runs % 2 == 0 };
            let path = if runs % 3 == 0 { "contracts/Token.sol" } else { "src/Token.sol" };
            let hit = search.matches(&Filling { path: Some(path), choice, libraries: None });
            assert!(!hit, "nothing has this hash");
            tried += 1;
        }
    }
    tried * 1_000 / started.elapsed().as_millis().max(1)
}

/// Metadata of about this length; most of it is the ABI, as in real contracts.
fn metadata(bytes: usize) -> String {
    let entry = r#"{"inputs":[{"internalType":"address","name":"account","type":"address"}],"name":"balanceOf","outputs":[{"internalType":"uint256","name":"","type":"uint256"}],"stateMutability":"view","type":"function"}"#;
    let abi = vec![entry; bytes / entry.len()].join(",");
    format!(
        r#"{{"compiler":{{"version":"0.8.20+commit.a1b79de6"}},"language":"Solidity","output":{{"abi":[{abi}],"devdoc":{{}},"userdoc":{{}}}},"settings":{{"compilationTarget":{{"a.sol":"A"}},"evmVersion":"shanghai","libraries":{{}},"metadata":{{"bytecodeHash":"ipfs"}},"optimizer":{{"enabled":false,"runs":200}},"remappings":[]}},"sources":{{"a.sol":{{"keccak256":"0x00","urls":[]}}}},"version":1}}"#
    )
}
