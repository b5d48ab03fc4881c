//! Every subset of the filters of an entity.

use alloy_primitives::Address;
use serde_json::{Value, json};

/// The filter values with the longest lists.
pub(crate) struct FilterTargets {
    pub(crate) hub: Address,
    pub(crate) partner: Address,
    pub(crate) token: Address,
    pub(crate) dex: String,
    /// A block range with most of the chain.
    pub(crate) blocks: (u64, u64),
}

/// Every subset of the filters of every entity.
pub(crate) fn combinations(targets: &FilterTargets) -> Vec<(&'static str, Value)> {
    let (from_block, to_block) = targets.blocks;
    let hub = json!(targets.hub);
    let transfers = [
        ("address", hub.clone()),
        ("from", hub.clone()),
        ("to", json!(targets.partner)),
        ("tokenAddress", json!(targets.token)),
        ("blockFrom", json!(from_block)),
        ("blockTo", json!(to_block)),
    ];
    let transactions = [
        ("address", hub.clone()),
        ("from", hub.clone()),
        ("to", json!(targets.partner)),
        ("blockFrom", json!(from_block)),
        ("blockTo", json!(to_block)),
    ];
    let trades =
        [("address", hub), ("dex", json!(targets.dex)), ("blockFrom", json!(from_block)), ("blockTo", json!(to_block))];
    let blocks = [("blockFrom", json!(from_block)), ("blockTo", json!(to_block))];
    subsets("token_transfers", &transfers)
        .chain(subsets("transactions", &transactions))
        .chain(subsets("dex_trades", &trades))
        .chain(subsets("blocks", &blocks))
        .collect()
}

fn subsets<'a>(
    entity: &'static str,
    filters: &'a [(&'static str, Value)],
) -> impl Iterator<Item = (&'static str, Value)> + 'a {
    (0..1_usize << filters.len()).map(move |chosen| {
        let filter = filters.iter().enumerate().filter(|(index, _)| chosen >> index & 1 == 1);
        (entity, Value::Object(filter.map(|(_, (name, value))| ((*name).to_owned(), value.clone())).collect()))
    })
}

/// The names of the filters.
pub(crate) fn named(filter: &Value) -> String {
    let names = filter.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    names.collect::<Vec<_>>().join(" + ")
}
