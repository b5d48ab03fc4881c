//! Names of the demo's contracts, as an operator would configure them.

use anyhow::Context;
use devchain::traffic::{DeployedContracts, ShowcaseContracts};
use domain::Address;
use enrichment::{DexEntry, Dexes, Labels};

const V2: &str = "Harbour v2";
const V3: &str = "Harbour v3";

pub(super) fn labels(
    contracts: &DeployedContracts,
    showcase: &ShowcaseContracts,
    treasury: Address,
) -> anyhow::Result<Labels> {
    let named = [
        (treasury, "Harbour treasury".to_owned()),
        (contracts.v2_factory, format!("{V2} factory")),
        (contracts.v2_router, format!("{V2} router")),
        (contracts.v3_factory, format!("{V3} factory")),
        (contracts.nursery, "Nursery".to_owned()),
        (contracts.counter, "Counter".to_owned()),
        (contracts.vault, "Vault".to_owned()),
        (contracts.failing, "Always fails".to_owned()),
        (showcase.payroll, "Harbour payroll".to_owned()),
    ];
    let pools = contracts.v2_pairs.iter().map(|pool| (pool.address, format!("{V2} pair")));
    let pools = pools.chain(contracts.v3_pools.iter().map(|pool| (pool.address, format!("{V3} pool"))));
    let lines = named.into_iter().chain(pools).map(|(address, name)| format!("{address:#x},{name}\n"));
    Labels::parse(&lines.collect::<String>()).context("invalid names in the demo")
}

pub(super) fn dexes(contracts: &DeployedContracts) -> anyhow::Result<Dexes> {
    let entry = |name: &str, factory| DexEntry { name: name.to_owned(), factory: format!("{factory:#x}") };
    Dexes::with(&[entry(V2, contracts.v2_factory), entry(V3, contracts.v3_factory)])
        .context("invalid names in the demo")
}
