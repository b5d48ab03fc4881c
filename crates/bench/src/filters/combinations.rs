//! Every subset of the filters of an entity.

use alloy_primitives::Address;
use serde_json::{Value, json};

/// Those on whose lists it is most crowded.
pub(crate) struct Crowd {
    pub(crate) hub: Address,
    pub(crate) partner: Address,
    pub(crate) token: Address,
    pub(crate) dex: String,
    /// The first and the last block of a range with most of the chain in it.
    pub(crate) blocks: (u64, u64),
}

/// Every subset of the filters of every entity, on the longest lists there are.
pub(crate) fn combinations(crowd: &Crowd) -> Vec<(&'static str, Value)> {
    let (from_block, to_block) = crowd.blocks;
    let hub = json!(crowd.hub);
    let transfers = [
        ("address", hub.clone()),
        ("from", hub.clone()),
        ("to", json!(crowd.partner)),
        ("tokenAddress", json!(crowd.token)),
        ("blockFrom", json!(from_block)),
        ("blockTo", json!(to_block)),
    ];
    let transactions = [
        ("address", hub.clone()),
        ("from", hub.clone()),
        ("to", json!(crowd.partner)),
        ("blockFrom", json!(from_block)),
        ("blockTo", json!(to_block)),
    ];
    let trades =
        [("address", hub), ("dex", json!(crowd.dex)), ("blockFrom", json!(from_block)), ("blockTo", json!(to_block))];
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
        let filter = filters.iter().enumerate().filter(|(place, _)| chosen >> place & 1 == 1);
        (entity, Value::Object(filter.map(|(_, (name, value))| ((*name).to_owned(), value.clone())).collect()))
    })
}

/// The names of the filters that are set.
pub(crate) fn named(filter: &Value) -> String {
    let names = filter.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    names.collect::<Vec<_>>().join(" + ")
}
