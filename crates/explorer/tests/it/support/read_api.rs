//! Reads everything that the API serves.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    TestExplorer,
    api_state::{AddressState, ApiState, text},
    client::Client,
};

/// Reads all pages of all lists and looks up every block, transaction and address.
pub(crate) async fn read_api<'a>(explorer: &TestExplorer, addresses: impl IntoIterator<Item = &'a str>) -> ApiState {
    read_api_through(explorer.client(), addresses).await
}

/// The same, through a client of a proxy, for example.
pub(crate) async fn read_api_through<'a>(client: &Client, addresses: impl IntoIterator<Item = &'a str>) -> ApiState {
    let client = client.with_keep_alive();
    let mut stats = client.json("/api/v1/stats").await;
    // Traces lag behind the tip; other tests cover them.
    for field in ["internalTransactionsFrom", "internalTransactionsTo"] {
        stats.as_object_mut().unwrap().remove(field);
    }
    let blocks = read_list(&client, "/api/v1/blocks?", "blocks").await;
    let transactions = read_list(&client, "/api/v1/transactions?", "transactions").await;

    for block in &blocks {
        for id in [block["number"].to_string(), text(&block["hash"]).to_owned()] {
            let path = format!("/api/v1/blocks/{id}");
            assert_eq!(client.json(&path).await, *block, "{path} is other than in the list");
        }
    }
    for transaction in &transactions {
        let path = format!("/api/v1/transactions/{}", text(&transaction["hash"]));
        assert_eq!(as_listed(client.json(&path).await), *transaction, "{path} is other than in the list");
    }
    let mut address_states = BTreeMap::new();
    for address in addresses {
        address_states.insert(address.to_owned(), read_address_state(&client, address).await);
    }
    ApiState { stats, blocks, transactions, addresses: address_states }
}

/// A transaction with the fields that it has in lists: those of the node are left out.
pub(crate) fn as_listed(transaction: Value) -> Value {
    const OF_NODE: [&str; 21] = [
        "otherFields",
        "authorizations",
        "gasLimit",
        "type",
        "maxFeePerGas",
        "maxPriorityFeePerGas",
        "burntFee",
        "feeParts",
        "cumulativeGasUsed",
        "input",
        "accessListLength",
        "authorizationListLength",
        "maxFeePerBlobGas",
        "blobGasUsed",
        "blobGasPrice",
        "blobVersionedHashes",
        "error",
        "revertReason",
        "errorSource",
        "logCount",
        "logs",
    ];
    let Value::Object(mut fields) = transaction else { panic!("not an object: {transaction}") };
    for name in OF_NODE {
        assert!(fields.remove(name).is_some(), "no {name}");
    }
    fields.into()
}

async fn read_address_state(client: &Client, address: &str) -> AddressState {
    let answer = client.get(&format!("/api/v1/addresses/{address}")).await;
    let detail = match answer.status {
        404 => None,
        // The node knows it, the index does not.
        200 if answer.json["firstSeen"].is_null() => None,
        _ => Some(without_token_fields(answer.ok())),
    };
    let transactions = read_list(client, &format!("/api/v1/transactions?address={address}&"), "transactions").await;
    AddressState { detail, transactions }
}

/// Token names, holders and internal transactions lag behind the tip; other tests cover them, the numbers of transfers,
/// trades and logs, and what is indexed.
fn without_token_fields(mut detail: Value) -> Value {
    if let Some(fields) = detail.as_object_mut() {
        fields.remove("token");
        fields.remove("label");
        fields.remove("transferCount");
        fields.remove("tradeCount");
        fields.remove("internalTxCount");
        fields.remove("internalTransactionsFrom");
        fields.remove("logCount");
        // It needs states of old blocks.
        fields.remove("delegatesSince");
        fields.remove("firstIndexedBlock");
        fields.remove("complete");
    }
    detail
}

/// Reads all pages of a list in order. The list must not change meanwhile.
pub(crate) async fn read_list(client: &Client, path: &str, name: &str) -> Vec<Value> {
    try_read_list(client, path, name).await.unwrap_or_else(|change| panic!("{change}"))
}

/// Reads all pages of a list in order; an error if it changes meanwhile.
pub(crate) async fn try_read_list(client: &Client, path: &str, name: &str) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    for page in 1.. {
        let mut answer = client.json(&format!("{path}limit=100&page={page}")).await;
        assert_eq!((&answer["page"], &answer["limit"]), (&page.into(), &100.into()), "{path}");
        let total = answer["total"].as_u64().unwrap();
        let Value::Array(entries) = answer[name].take() else { panic!("{path}: no {name}") };
        let expected = usize::try_from(total).unwrap().saturating_sub(found.len()).min(100);
        if entries.len() != expected {
            return Err(format!("{path}: {} entries on page {page} of {total}, not {expected}", entries.len()));
        }
        if entries.is_empty() {
            break;
        }
        found.extend(entries);
    }
    Ok(found)
}

/// One field of every entry.
pub(crate) fn field(entries: &[Value], name: &str) -> Vec<Value> {
    entries.iter().map(|entry| entry[name].clone()).collect()
}
