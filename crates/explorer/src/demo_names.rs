//! What the demo calls the contracts of its chain, as an operator would with a labels file and a configuration.

use anyhow::Context;
use devchain::traffic::DeployedContracts;
use enrichment::{DexEntry, Dexes, Labels};

const V2: &str = "Harbour v2";
const V3: &str = "Harbour v3";

pub(crate) fn labels(stage: &DeployedContracts) -> anyhow::Result<Labels> {
    let named = [
        (stage.v2_factory, format!("{V2} factory")),
        (stage.v2_router, format!("{V2} router")),
        (stage.v3_factory, format!("{V3} factory")),
        (stage.nursery, "Nursery".to_owned()),
        (stage.counter, "Counter".to_owned()),
        (stage.vault, "Vault".to_owned()),
    ];
    let pools = stage.v2_pairs.iter().map(|pool| (pool.address, format!("{V2} pair")));
    let pools = pools.chain(stage.v3_pools.iter().map(|pool| (pool.address, format!("{V3} pool"))));
    let lines = named.into_iter().chain(pools).map(|(address, name)| format!("{address:#x},{name}\n"));
    Labels::parse(&lines.collect::<String>()).context("the demo's names are not right")
}

pub(crate) fn dexes(stage: &DeployedContracts) -> anyhow::Result<Dexes> {
    let entry = |name: &str, factory| DexEntry { name: name.to_owned(), factory: format!("{factory:#x}") };
    Dexes::with(&[entry(V2, stage.v2_factory), entry(V3, stage.v3_factory)]).context("the demo's names are not right")
}
