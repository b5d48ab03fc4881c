//! Ids of tokens, their holders and transfers, compared with logs and contract calls of the node, also after reorgs.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256, hex, keccak256};
use serde_json::{Value, json};

use crate::{
    real_contracts::scenario::Scenario,
    support::{TestExplorer, read_list, rpc::Rpc},
};

/// A token and one of its ids.
type Nft = (String, String);

/// What the logs say about an id.
#[derive(Debug, Default)]
struct Moved {
    parties: BTreeSet<String>,
    /// Sender and receiver of each transfer, the oldest first.
    transfers: Vec<(String, String)>,
}

fn words(data: &Value) -> Vec<U256> {
    let bytes = hex::decode(data.as_str().unwrap()).unwrap();
    bytes.chunks_exact(32).map(U256::from_be_slice).collect()
}

fn party(topic: &Value) -> String {
    format!("0x{}", &topic.as_str().unwrap()[26..])
}

fn selector(signature: &str) -> String {
    hex::encode_prefixed(&keccak256(signature)[..4])
}

/// Every id that the logs of some tokens move.
async fn moved_ids(rpc: &Rpc, tokens: &[&str]) -> BTreeMap<Nft, Moved> {
    let filter = json!([{ "fromBlock": "0x0", "toBlock": "latest", "address": tokens }]);
    let Value::Array(logs) = rpc.call("eth_getLogs", filter).await else { panic!("no logs") };
    let mut moved: BTreeMap<Nft, Moved> = BTreeMap::new();
    for log in &logs {
        let topics = log["topics"].as_array().unwrap();
        let is = |event: &str| topics[0] == keccak256(event).to_string();
        let data = words(&log["data"]);
        let (ids, first_party) = if is("Transfer(address,address,uint256)") {
            (words(&topics[3]), 1)
        } else if is("TransferSingle(address,address,address,uint256,uint256)") {
            (data[..1].to_vec(), 2)
        } else if is("TransferBatch(address,address,address,uint256[],uint256[])") {
            // Two offsets, then the ids after their number.
            let count = data[2].to::<usize>();
            (data[3..3 + count].to_vec(), 2)
        } else {
            continue;
        };
        let (from, to) = (party(&topics[first_party]), party(&topics[first_party + 1]));
        for id in ids {
            let token = log["address"].as_str().unwrap().to_lowercase();
            let of_id = moved.entry((token, id.to_string())).or_default();
            of_id.parties.extend([from.clone(), to.clone()]);
            of_id.transfers.push((from.clone(), to.clone()));
        }
    }
    moved
}

/// The holders of an id, as the contract says.
async fn holders(rpc: &Rpc, (token, id): &Nft, kind: &str, parties: &BTreeSet<String>) -> BTreeMap<String, String> {
    let id: U256 = id.parse().unwrap();
    if kind == "BEP721" {
        let data = format!("{}{id:064x}", selector("ownerOf(uint256)"));
        // A burned id has no owner: the call fails.
        let answer = rpc.answers(&[("eth_call", json!([{ "to": token, "data": data }, "latest"]))]).await.remove(0);
        return answer.into_iter().map(|owner| (party(&owner), "1".to_owned())).collect();
    }
    let mut found = BTreeMap::new();
    for holder in parties.iter().filter(|holder| **holder != format!("{:#x}", Address::ZERO)) {
        let data = format!("{}{:0>64}{id:064x}", selector("balanceOf(address,uint256)"), &holder[2..]);
        let answer = rpc.call("eth_call", json!([{ "to": token, "data": data }, "latest"])).await;
        let amount = words(&answer)[0];
        if !amount.is_zero() {
            found.insert(holder.clone(), amount.to_string());
        }
    }
    found
}

fn texts(entries: &[Value], key: &str, value: &str) -> BTreeMap<String, String> {
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    entries.iter().map(|entry| (text(entry, key), text(entry, value))).collect()
}

/// Compares every id of the tokens, and all that every address holds of them. Returns how many ids have how many holders.
async fn assert_ids_agree(scenario: &Scenario, explorer: &TestExplorer, what: &str) -> BTreeMap<usize, usize> {
    scenario.anvil.wait_for(explorer).await;
    let (rpc, client) = (&scenario.anvil.rpc, explorer.client().with_keep_alive());
    let tokens = [(scenario.pieces.as_str(), "BEP721"), (scenario.items.as_str(), "BEP1155")];
    let moved = moved_ids(rpc, &tokens.map(|(token, _)| token)).await;
    let mut held: BTreeMap<String, BTreeMap<Nft, String>> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for (token, kind) in tokens {
        let path = format!("/api/v1/tokens/{token}/ids");
        let listed = read_list(&client, &format!("{path}?"), "ids").await;
        let ids: BTreeSet<&str> = listed.iter().map(|nft| nft["tokenId"].as_str().unwrap()).collect();
        let expected: BTreeSet<&str> = moved.keys().filter(|(of, _)| of == token).map(|(_, id)| id.as_str()).collect();
        assert_eq!((ids, listed.len()), (expected.clone(), expected.len()), "{what}: ids of {token}");
        for nft in &listed {
            let key: Nft = (token.to_owned(), nft["tokenId"].as_str().unwrap().to_owned());
            let (of_id, path) = (&moved[&key], format!("{path}/{}", key.1));
            let expected = holders(rpc, &key, kind, &of_id.parties).await;
            let found = read_list(&client, &format!("{path}/holders?"), "holders").await;
            assert_eq!(texts(&found, "address", "balance"), expected, "{what}: holders of {key:?}");
            let owner = expected.keys().next().filter(|_| kind == "BEP721");
            assert_eq!(nft["owner"], json!(owner), "{what}: owner of {key:?}");
            assert_eq!(nft["holderCount"], expected.len(), "{what}: {key:?}");
            assert_eq!((&nft["tokenType"], &nft["tokenAddress"]), (&json!(kind), &json!(token)));
            let mut detail = client.json(&path).await;
            let fields = detail.as_object_mut().unwrap();
            assert_eq!(
                (fields.remove("metadataEnabled"), fields.remove("metadata")),
                (Some(json!(false)), Some(Value::Null))
            );
            assert_eq!(*nft, detail);

            let transfers = read_list(&client, &format!("{path}/transfers?"), "transfers").await;
            let parties = |transfer: &Value| {
                let [from, to] = ["fromAddress", "toAddress"].map(|name| transfer[name].as_str().unwrap().to_owned());
                (from, to)
            };
            assert!(transfers.iter().rev().map(parties).eq(of_id.transfers.iter().cloned()), "{what}: {key:?}");
            assert!(
                transfers.iter().all(|transfer| transfer["tokenId"] == *key.1 && transfer["tokenAddress"] == *token)
            );
            assert_eq!(nft["transferCount"], transfers.len());
            *counts.entry(expected.len()).or_default() += 1;
            for (holder, amount) in expected {
                held.entry(holder).or_default().insert(key.clone(), amount);
            }
        }
    }
    let parties: BTreeSet<&String> = moved.values().flat_map(|moved| &moved.parties).collect();
    for address in parties {
        let listed = read_list(&client, &format!("/api/v1/addresses/{address}/nfts?"), "nfts").await;
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        let of_tokens = listed.iter().filter(|held| tokens.iter().any(|(token, _)| held["tokenAddress"] == **token));
        let found: BTreeMap<Nft, String> =
            of_tokens.map(|held| ((text(held, "tokenAddress"), text(held, "tokenId")), text(held, "amount"))).collect();
        assert_eq!(found, held.remove(address).unwrap_or_default(), "{what}: what {address} holds");
    }
    assert!(held.is_empty(), "{what}: {held:?}");
    counts
}

#[tokio::test]
async fn ids_agree_with_owner_of_and_balance_of_after_every_reorg() {
    let scenario = Scenario::deploy().await;
    scenario.run_round(1).await;
    let explorer = TestExplorer::start(scenario.anvil.url()).await;
    assert_ids_agree(&scenario, &explorer, "at first").await;
    for (round, depth) in (2..).zip([1_u64, 9, 30]) {
        scenario.run_round(round).await;
        assert_ids_agree(&scenario, &explorer, &format!("before a reorg of depth {depth}")).await;
        scenario.anvil.rpc.call("anvil_reorg", json!([depth, []])).await;
        assert_ids_agree(&scenario, &explorer, &format!("after a reorg of depth {depth}")).await;
        // Ids of the round before move again.
        scenario.run_round(round + 10).await;
    }
    let counts = assert_ids_agree(&scenario, &explorer, "at last").await;
    assert!([0, 1].iter().all(|count| counts.get(count).is_some_and(|ids| *ids > 3)), "{counts:?}");
}

#[tokio::test]
async fn pages_show_the_inventory_of_a_token_an_id_and_what_an_address_holds() {
    let scenario = Scenario::deploy().await;
    scenario.run_round(1).await;
    let explorer = TestExplorer::start(scenario.anvil.url()).await;
    scenario.anvil.wait_for(&explorer).await;
    let client = explorer.client();
    let listed = explorer.json(&format!("/api/v1/tokens/{}/ids", scenario.pieces)).await;
    let owned = listed["ids"].as_array().unwrap().iter().find(|nft| nft["owner"].is_string()).unwrap();
    let (id, owner) = (owned["tokenId"].as_str().unwrap(), owned["owner"].as_str().unwrap());
    let token: Address = scenario.pieces.parse().unwrap();
    let link = format!("/token/{}/{id}\"", token.to_checksum(None));
    for path in [format!("/token/{}?tab=inventory", scenario.pieces), format!("/address/{owner}?tab=nfts")] {
        let page = client.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.text.contains(&link), "{path} without {link}: {}", page.text);
    }
    let owner: Address = owner.parse().unwrap();
    for tab in ["", "?tab=holders"] {
        let page = client.get(&format!("/token/{}/{id}{tab}", scenario.pieces)).await;
        assert!(page.status == 200 && page.text.contains(&owner.to_checksum(None)), "{}", page.text);
    }
    let coin = client.get(&format!("/token/{}", scenario.pieces)).await.text;
    assert!(coin.contains("?tab=inventory") && coin.contains(&link), "transfers link to the id: {coin}");
    for missing in ["999999", "x", "1.5", "-1"] {
        assert_eq!(client.get(&format!("/token/{}/{missing}", scenario.pieces)).await.status, 404, "{missing}");
    }
}

#[tokio::test]
async fn an_unknown_id_is_not_found_and_an_invalid_one_is_rejected() {
    let scenario = Scenario::deploy().await;
    scenario.run_round(1).await;
    let explorer = TestExplorer::start(scenario.anvil.url()).await;
    scenario.anvil.wait_for(&explorer).await;
    let (client, items) = (explorer.client(), &scenario.items);
    let code = async |path: String, status: u16| {
        let answer = client.get(&path).await;
        assert_eq!(answer.status, status, "{path}");
        answer.json["code"].as_str().unwrap_or_default().to_owned()
    };
    let nobody = "0x00000000000000000000000000000000deadbeef";
    assert_eq!(code(format!("/api/v1/tokens/{nobody}/ids"), 404).await, "token_not_found");
    for end in ["", "/holders", "/transfers"] {
        assert_eq!(code(format!("/api/v1/tokens/{items}/ids/{}{end}", U256::MAX), 404).await, "token_id_not_found");
        for id in ["x", "-1", "0x1", "1.0", &format!("{}0", U256::MAX)] {
            assert_eq!(code(format!("/api/v1/tokens/{items}/ids/{id}{end}"), 400).await, "invalid_parameter");
        }
    }
    assert_eq!(explorer.json(&format!("/api/v1/addresses/{nobody}/nfts")).await["total"], 0);
}
