//! Chains for development: anyone may change them, and nothing on them has value.

/// The default ids of `geth --dev` and `reth --dev`, whose client versions are those of nodes on public networks, of ganache,
/// and of anvil and Hardhat.
pub(crate) const DEV_CHAIN_IDS: [u64; 2] = [1_337, 31_337];
/// How the client versions of nodes for development begin, in lower case. The last is the chain of the demo.
const DEV_CLIENTS: [&str; 5] = ["anvil", "hardhat", "ganache", "ethereumjs testrpc", "devchain"];

/// Whether a chain is one for development, by its id and the `web3_clientVersion` of its node.
#[must_use]
pub fn is_dev_chain(chain_id: u64, client_version: &str) -> bool {
    let client = client_version.trim_start().to_ascii_lowercase();
    DEV_CHAIN_IDS.contains(&chain_id) || DEV_CLIENTS.iter().any(|name| client.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GETH: &str = "Geth/v1.16.7-stable-b9f3a3d9/linux-amd64/go1.25.1";

    #[test]
    fn nodes_for_development_are_known_by_their_client_version() {
        for version in [
            "anvil/v1.4.0",
            "HardhatNetwork/2.22.1/@nomicfoundation/edr/0.6.4",
            "Ganache/v7.9.1/EthereumJS TestRPC/v7.9.1/ethereum-js",
            "EthereumJS TestRPC/v2.13.2/ethereum-js",
            "devchain/v0.1.0/rust",
        ] {
            assert!(is_dev_chain(1, version), "{version}");
        }
        for version in [GETH, "reth/v1.9.0-84785f0/x86_64", "erigon/3.2.0", "Nethermind/v1.34", "Geth/anvil", ""] {
            assert!(!is_dev_chain(1, version) && !is_dev_chain(56, version), "{version}");
        }
    }

    #[test]
    fn other_nodes_serve_a_chain_for_development_under_its_usual_ids() {
        assert!(is_dev_chain(1_337, GETH) && is_dev_chain(31_337, "reth/v1.9.0"));
        assert!(![1, 56, 97, 137, 1_338, 13_337].into_iter().any(|id| is_dev_chain(id, GETH)));
    }
}
