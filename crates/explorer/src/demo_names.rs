//! Names of the demo's contracts, as an operator would configure them.

use anyhow::Context;
use devchain::traffic::DeployedContracts;
use enrichment::{DexEntry, Dexes, Labels};

const V2: &str = "Harbour v2";
const V3: &str = "Harbour v3";

pub(crate) fn labels(contracts: &DeployedContracts) -> anyhow::Result<Labels> {
    let named = [
        (contracts.v2_factory, format!("{V2} factory")),
        (contracts.v2_router, format!("{V2} router")),
        (contracts.v3_factory, format!("{V3} factory")),
        (contracts.nursery, "Nursery".to_owned()),
        (contracts.counter, "Counter".to_owned()),
        (contracts.vault, "Vault".to_owned()),
    ];
    let pools = contracts.v2_pairs.iter().map(|pool| (pool.address, format!("{V2} pair")));
    let pools = pools.chain(contracts.v3_pools.iter().map(|pool| (pool.address, format!("{V3} pool"))));
    let lines = named.into_iter().chain(pools).map(|(address, name)| format!("{address:#x},{name}\n"));
    Labels::parse(&lines.collect::<String>()).context("invalid names in the demo")
}

pub(crate) fn dexes(contracts: &DeployedContracts) -> anyhow::Result<Dexes> {
    let entry = |name: &str, factory| DexEntry { name: name.to_owned(), factory: format!("{factory:#x}") };
    Dexes::with(&[entry(V2, contracts.v2_factory), entry(V3, contracts.v3_factory)])
        .context("invalid names in the demo")
}
