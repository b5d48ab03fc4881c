//! The data modules of Etherscan's format, compared with the node, page by page.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{ask, result};
use crate::{
    internal::wait_for_traces,
    real_contracts::scenario::Scenario,
    support::{Anvil, Launch, TestExplorer, anvil_history::every_kind_of_transaction, client::Client, eventually},
};

const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// Everything that a node says about its chain.
struct Truth {
    blocks: Vec<Value>,
    /// In chain order, with their receipts.
    transactions: Vec<(Value, Value)>,
    logs: Vec<Value>,
}

impl Truth {
    async fn read(anvil: &Anvil) -> Self {
        let (head, _) = anvil.rpc.head().await;
        let (mut blocks, mut transactions) = (Vec::new(), Vec::new());
        for number in 0..=head {
            let number = format!("{number:#x}");
            let block = anvil.rpc.call("eth_getBlockByNumber", json!([number, true])).await;
            let receipts = anvil.rpc.call("eth_getBlockReceipts", json!([number])).await;
            let sent = block["transactions"].as_array().unwrap().clone();
            transactions.extend(sent.into_iter().zip(receipts.as_array().unwrap().clone()));
            blocks.push(block);
        }
        let logs = anvil.rpc.call("eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": "latest" }])).await;
        Self { blocks, transactions, logs: logs.as_array().unwrap().clone() }
    }

    fn timestamp(&self, number: &Value) -> String {
        decimal(&self.blocks[usize::try_from(quantity(number)).unwrap()]["timestamp"])
    }

    /// A row of `txlist`.
    fn row(&self, (tx, receipt): &(Value, Value)) -> BTreeMap<&'static str, String> {
        let input = lower(&tx["input"]);
        let failed = receipt["status"] == "0x0";
        BTreeMap::from([
            ("blockNumber", decimal(&tx["blockNumber"])),
            ("timeStamp", self.timestamp(&tx["blockNumber"])),
            ("hash", lower(&tx["hash"])),
            ("nonce", decimal(&tx["nonce"])),
            ("blockHash", lower(&tx["blockHash"])),
            ("transactionIndex", decimal(&tx["transactionIndex"])),
            ("from", lower(&tx["from"])),
            ("to", lower(&tx["to"])),
            ("value", decimal(&tx["value"])),
            ("gas", decimal(&tx["gas"])),
            ("gasPrice", decimal(&receipt["effectiveGasPrice"])),
            ("isError", if failed { "1" } else { "0" }.to_owned()),
            ("txreceipt_status", if failed { "0" } else { "1" }.to_owned()),
            ("contractAddress", if failed { String::new() } else { lower(&receipt["contractAddress"]) }),
            ("cumulativeGasUsed", decimal(&receipt["cumulativeGasUsed"])),
            ("gasUsed", decimal(&receipt["gasUsed"])),
            ("confirmations", (self.blocks.len() as u128 - 1 - quantity(&tx["blockNumber"])).to_string()),
            ("methodId", if input.len() >= 10 { input[..10].to_owned() } else { "0x".to_owned() }),
            ("input", input),
        ])
    }
}

fn quantity(value: &Value) -> u128 {
    u128::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn decimal(value: &Value) -> String {
    let number: alloy_primitives::U256 = value.as_str().unwrap().parse().unwrap();
    number.to_string()
}

fn lower(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_lowercase()
}

/// All rows of a list, a page at a time, and the messages of the empty page after them.
async fn all_pages(client: &Client, query: &str, rows: usize) -> (Vec<Value>, Value) {
    let mut all = Vec::new();
    for page in 1.. {
        let mut answer = ask(client, &format!("{query}&page={page}&offset={rows}")).await;
        let found = answer["result"].as_array().unwrap_or_else(|| panic!("{query}: {answer}")).clone();
        if found.is_empty() {
            return (all, answer["message"].take());
        }
        assert!(found.len() <= rows && answer["status"] == "1", "{query}: {answer}");
        all.extend(found);
    }
    unreachable!()
}

async fn scene() -> (Scenario, TestExplorer) {
    let scenario = Scenario::deploy().await;
    scenario.run_round(1).await;
    every_kind_of_transaction(&scenario.anvil).await;
    let explorer = TestExplorer::start(scenario.anvil.url()).await;
    scenario.anvil.wait_for(&explorer).await;
    (scenario, explorer)
}

#[tokio::test]
async fn transactions_blocks_and_balances_are_those_of_the_node() {
    let (scenario, explorer) = scene().await;
    let (anvil, client) = (&scenario.anvil, explorer.client());
    let truth = Truth::read(anvil).await;
    let accounts = anvil.accounts().await;
    for address in &accounts[..3] {
        let touches = |(tx, _): &&(Value, Value)| lower(&tx["from"]) == *address || lower(&tx["to"]) == *address;
        let mut expected: Vec<_> = truth.transactions.iter().filter(touches).map(|tx| truth.row(tx)).collect();
        assert!(expected.len() > 3, "{address}");
        for (sort, rows) in [("asc", 7), ("desc", 100), ("asc", 10_000)] {
            let query = format!("module=account&action=txlist&address={address}&sort={sort}");
            let (found, message) = all_pages(client, &query, rows).await;
            assert_eq!(message, "No transactions found");
            assert_eq!(found.len(), expected.len());
            let newest = expected.iter().rev();
            let in_order: Vec<_> = if sort == "asc" { expected.iter().collect() } else { newest.collect() };
            for (found, expected) in found.iter().zip(in_order) {
                for (field, expected) in expected {
                    assert_eq!(found[*field], **expected, "{field} of {found}");
                }
                assert!(found["functionName"].is_string());
            }
        }
        // A range of blocks, without sort and page, with page 0 as foundry sends it.
        let middle = truth.blocks.len() / 2;
        expected.retain(|row| row["blockNumber"].parse::<usize>().unwrap() <= middle);
        let query =
            format!("module=account&action=txlist&address={address}&startBlock=0&endBlock={middle}&page=0&offset=0");
        let found = ask(client, &query).await;
        assert_eq!(found["result"].as_array().unwrap().len(), expected.len(), "{found}");
        let balance = result(client, &format!("module=account&action=balance&address={address}&tag=latest")).await;
        assert_eq!(balance, decimal(&anvil.rpc.call("eth_getBalance", json!([address, "latest"])).await));
        let tag = format!("{middle:#x}");
        let balance = result(client, &format!("module=account&action=balance&address={address}&tag={tag}")).await;
        assert_eq!(balance, decimal(&anvil.rpc.call("eth_getBalance", json!([address, tag])).await));
    }
    let several = result(client, &format!("module=account&action=balancemulti&address={}", accounts.join(","))).await;
    for (row, address) in several.as_array().unwrap().iter().zip(&accounts) {
        assert_eq!(row["account"], **address);
        assert_eq!(row["balance"], decimal(&anvil.rpc.call("eth_getBalance", json!([address, "latest"])).await));
    }

    for (tx, receipt) in &truth.transactions {
        let status =
            result(client, &format!("module=transaction&action=gettxreceiptstatus&txhash={}", lower(&tx["hash"])))
                .await;
        assert_eq!(status["status"], decimal(&receipt["status"]));
        let error = result(client, &format!("module=transaction&action=getstatus&txhash={}", lower(&tx["hash"]))).await;
        assert_eq!(error["isError"], if receipt["status"] == "0x1" { "0" } else { "1" });
    }

    let mut miners = BTreeMap::<String, Vec<&Value>>::new();
    for block in &truth.blocks {
        miners.entry(lower(&block["miner"])).or_default().push(block);
    }
    let reward = |block: &Value| -> u128 {
        let base = quantity(&block["baseFeePerGas"]);
        let fees = truth.transactions.iter().filter(|(tx, _)| tx["blockNumber"] == block["number"]);
        fees.map(|(_, receipt)| (quantity(&receipt["effectiveGasPrice"]) - base) * quantity(&receipt["gasUsed"])).sum()
    };
    assert!(miners.len() > 1);
    for (miner, blocks) in miners {
        let query = format!("module=account&action=getminedblocks&address={miner}&blocktype=blocks");
        let (found, _) = all_pages(client, &query, 9).await;
        assert_eq!(found.len(), blocks.len());
        for (found, block) in found.iter().zip(blocks.iter().rev()) {
            assert_eq!(found["blockNumber"], decimal(&block["number"]));
            assert_eq!(found["timeStamp"], decimal(&block["timestamp"]));
            assert_eq!(found["blockReward"], reward(block).to_string());
        }
    }
    let times: Vec<u128> = truth.blocks.iter().map(|block| quantity(&block["timestamp"])).collect();
    for time in times.iter().flat_map(|time| [*time - 1, *time, *time + 1]) {
        let before = times.iter().rposition(|other| *other <= time).map(|number| number.to_string());
        let after = times.iter().position(|other| *other >= time).map(|number| number.to_string());
        for (closest, expected) in [("before", before), ("after", after)] {
            let query = format!("module=block&action=getblocknobytime&timestamp={time}&closest={closest}");
            let found = ask(client, &query).await;
            let expected = expected.unwrap_or_else(|| "Error! No closest block found".to_owned());
            assert_eq!(found["result"], expected, "{query}");
        }
    }
}

#[tokio::test]
async fn transfers_and_tokens_are_those_of_the_node() {
    let (scenario, explorer) = scene().await;
    let (anvil, client) = (&scenario.anvil, explorer.client());
    let truth = Truth::read(anvil).await;
    // The kinds and names of tokens are read from their contracts a moment after their blocks.
    let tokens = eventually("the metadata of all tokens", async || {
        let tokens = explorer.json("/api/v1/tokens?limit=100").await["tokens"].as_array().unwrap().clone();
        let ready = tokens.iter().any(|token| token["name"].as_str().is_some_and(|name| !name.is_empty()));
        (tokens.len() >= 5 && ready).then_some(tokens)
    })
    .await;
    let kinds = [("BEP20", "tokentx"), ("BEP721", "tokennfttx"), ("BEP1155", "token1155tx")];
    let accounts = anvil.accounts().await;
    let mut compared = 0;
    for (kind, action) in kinds {
        let of_kind: BTreeSet<&str> = tokens
            .iter()
            .filter(|token| token["type"] == kind)
            .map(|token| token["address"].as_str().unwrap())
            .collect();
        for address in &accounts[..3] {
            // All transfers of the API, which other tests compare with the receipts.
            let body = json!({ "entity": "token_transfers", "filter": { "address": address }, "orderBy": "asc", "limit": 100 });
            let ours = client.query(body).await;
            assert!(ours["count"].as_u64().unwrap() <= 100, "{ours}");
            let ours: Vec<&Value> = ours["data"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|transfer| of_kind.contains(transfer["tokenAddress"].as_str().unwrap()))
                .collect();
            let (found, message) =
                all_pages(client, &format!("module=account&action={action}&address={address}"), 3).await;
            assert_eq!(message, "No transactions found");
            assert_eq!(found.len(), ours.len(), "{action} of {address}");
            for (row, transfer) in found.iter().zip(ours) {
                compared += 1;
                let (tx, receipt) =
                    truth.transactions.iter().find(|(tx, _)| lower(&tx["hash"]) == row["hash"]).unwrap();
                let whole = truth.row(&(tx.clone(), receipt.clone()));
                for field in [
                    "blockNumber",
                    "timeStamp",
                    "nonce",
                    "blockHash",
                    "transactionIndex",
                    "gas",
                    "gasPrice",
                    "gasUsed",
                    "cumulativeGasUsed",
                    "confirmations",
                    "methodId",
                ] {
                    assert_eq!(row[field], whole[field], "{field} of {row}");
                }
                assert_eq!((&row["from"], &row["to"]), (&transfer["fromAddress"], &transfer["toAddress"]), "{row}");
                assert_eq!((&row["contractAddress"], &row["input"]), (&transfer["tokenAddress"], &json!("deprecated")));
                match kind {
                    "BEP20" => assert_eq!(row["value"], transfer["value"]),
                    "BEP721" => assert_eq!(row["tokenID"], transfer["tokenId"]),
                    _ => assert_eq!((&row["tokenID"], &row["tokenValue"]), (&transfer["tokenId"], &transfer["value"])),
                }
            }
        }
        for token in of_kind {
            let (by_token, _) =
                all_pages(client, &format!("module=account&action={action}&contractaddress={token}"), 4).await;
            let listed = tokens.iter().find(|listed| listed["address"] == token).unwrap();
            let info = result(client, &format!("module=token&action=tokeninfo&contractaddress={token}")).await;
            assert_eq!((&info[0]["tokenName"], &info[0]["symbol"]), (&listed["name"], &listed["symbol"]));
            if kind == "BEP20" {
                let logs = truth
                    .logs
                    .iter()
                    .filter(|log| lower(&log["address"]) == token && lower(&log["topics"][0]) == TRANSFER);
                assert!(by_token.len() >= logs.count() / 2, "{token}");
                for holder in &accounts[..2] {
                    let data = format!("0x70a08231{:0>64}", &holder[2..]);
                    let expected = anvil.rpc.call("eth_call", json!([{ "to": token, "data": data }, "latest"])).await;
                    let query = format!("module=account&action=tokenbalance&contractaddress={token}&address={holder}");
                    assert_eq!(result(client, &query).await, decimal(&expected));
                }
                let supply =
                    anvil.rpc.answers(&[("eth_call", json!([{ "to": token, "data": "0x18160ddd" }, "latest"]))]).await;
                if let Some(Ok(supply)) = supply.first().filter(|supply| supply.as_ref().is_ok_and(|text| text != "0x"))
                {
                    let query = format!("module=stats&action=tokensupply&contractaddress={token}");
                    assert_eq!(result(client, &query).await, decimal(supply));
                }
            }
            let ours = explorer.json(&format!("/api/v1/tokens/{token}/holders?limit=100")).await;
            let (holders, _) =
                all_pages(client, &format!("module=token&action=tokenholderlist&contractaddress={token}"), 2).await;
            assert_eq!(holders.len() as u64, ours["total"].as_u64().unwrap(), "{token}");
            for (row, holder) in holders.iter().zip(ours["holders"].as_array().unwrap()) {
                assert_eq!(
                    (&row["TokenHolderAddress"], &row["TokenHolderQuantity"]),
                    (&holder["address"], &holder["balance"])
                );
            }
        }
    }
    assert!(compared > 10, "{compared}");
}

#[tokio::test]
async fn logs_internal_calls_and_passed_calls_are_those_of_the_node() {
    let (scenario, explorer) = scene().await;
    let (anvil, client) = (&scenario.anvil, explorer.client());
    let truth = Truth::read(anvil).await;
    let addresses: BTreeSet<String> = truth.logs.iter().map(|log| lower(&log["address"])).collect();
    let expected = |log: &Value| {
        let (tx, receipt) = truth.transactions.iter().find(|(tx, _)| tx["hash"] == log["transactionHash"]).unwrap();
        json!({
            "address": lower(&log["address"]), "topics": log["topics"], "data": log["data"],
            "blockNumber": log["blockNumber"], "blockHash": log["blockHash"],
            "timeStamp": format!("{:#x}", truth.timestamp(&tx["blockNumber"]).parse::<u64>().unwrap()),
            "gasPrice": receipt["effectiveGasPrice"], "gasUsed": receipt["gasUsed"],
            "logIndex": log["logIndex"], "transactionHash": log["transactionHash"],
            "transactionIndex": log["transactionIndex"],
        })
    };
    assert!(truth.logs.len() > 20 && addresses.len() > 3);
    for address in addresses.iter().take(4) {
        let of_address: Vec<Value> =
            truth.logs.iter().filter(|log| lower(&log["address"]) == *address).map(expected).collect();
        let query = format!("module=logs&action=getLogs&address={address}&fromBlock=0&toBlock=latest");
        let (found, message) = all_pages(client, &query, 5).await;
        assert_eq!((found, message), (of_address, json!("No records found")), "{address}");
    }
    let topic1 = |log: &Value| log["topics"][1].as_str().map(str::to_owned);
    let one = truth.logs.iter().find_map(topic1).unwrap();
    for operator in ["and", "or"] {
        let matches = |log: &&Value| {
            let (first, second) = (lower(&log["topics"][0]) == TRANSFER, lower(&log["topics"][1]) == one);
            if operator == "and" { first && second } else { first || second }
        };
        let expected: Vec<Value> = truth.logs.iter().filter(matches).map(expected).collect();
        let query = format!("module=logs&action=getLogs&topic0={TRANSFER}&topic1={one}&topic0_1_opr={operator}");
        assert_eq!(all_pages(client, &query, 1_000).await.0, expected, "{operator}");
    }

    wait_for_traces(&explorer, 0, anvil.rpc.head().await.0).await;
    let mut internal = 0;
    for (tx, _) in &truth.transactions {
        let hash = lower(&tx["hash"]);
        let trace = anvil.rpc.call("debug_traceTransaction", json!([hash, { "tracer": "callTracer" }])).await;
        let mut calls = Vec::new();
        collect_calls(&trace, &mut calls);
        let found = ask(client, &format!("module=account&action=txlistinternal&txhash={hash}")).await;
        let found = found["result"].as_array().unwrap_or_else(|| panic!("{found}")).clone();
        assert_eq!(found.len(), calls.len(), "{hash}: {found:?}");
        for (row, call) in found.iter().zip(calls) {
            internal += 1;
            assert_eq!((&row["from"], &row["hash"]), (&json!(lower(&call["from"])), &json!(hash)));
            assert_eq!(row["type"], lower(&call["type"]));
            assert_eq!(row["gasUsed"], decimal(&call["gasUsed"]));
            let party = if lower(&call["type"]).starts_with("create") { "contractAddress" } else { "to" };
            // A failed creation creates nothing.
            let is_void = party == "contractAddress" && row["isError"] == "1";
            assert_eq!(row[party], if is_void { String::new() } else { lower(&call["to"]) }, "{row}");
        }
    }
    assert!(internal > 3, "{internal}");
    let (by_blocks, _) =
        all_pages(client, "module=account&action=txlistinternal&startblock=0&endblock=99999999", 7).await;
    assert_eq!(by_blocks.len(), internal);
    let of_address =
        |row: &&Value| ["from", "to", "contractAddress"].iter().any(|party| row[*party] == by_blocks[0]["from"]);
    let expected: Vec<Value> = by_blocks.iter().filter(of_address).cloned().collect();
    let query = format!("module=account&action=txlistinternal&address={}", lower(&by_blocks[0]["from"]));
    assert_eq!(all_pages(client, &query, 3).await.0, expected);
    let last = by_blocks.last().unwrap();
    let number = lower(&last["blockNumber"]);
    let of_block: Vec<Value> =
        by_blocks.iter().filter(|row| row["blockNumber"] == last["blockNumber"]).cloned().collect();
    let query = format!("module=account&action=txlistinternal&startblock={number}&endblock={number}");
    assert_eq!(all_pages(client, &query, 100).await.0, of_block);

    let untraced = Launch::run(anvil.url()).argument("--traces", "off").start().await;
    anvil.wait_for(&untraced).await;
    let refused = ask(untraced.client(), "module=account&action=txlistinternal").await;
    assert_eq!(refused["status"], "0");
    assert!(lower(&refused["result"]).contains("no internal transactions are indexed yet"), "{refused}");

    let account = &anvil.accounts().await[0];
    let (tx, _) = &truth.transactions[0];
    for (query, method, params) in [
        ("action=eth_blockNumber".to_owned(), "eth_blockNumber", json!([])),
        ("action=eth_getBlockByNumber&tag=0x2&boolean=true".to_owned(), "eth_getBlockByNumber", json!(["0x2", true])),
        (
            format!("action=eth_getTransactionByHash&txhash={}", lower(&tx["hash"])),
            "eth_getTransactionByHash",
            json!([tx["hash"]]),
        ),
        (
            format!("action=eth_getTransactionReceipt&txhash={}", lower(&tx["hash"])),
            "eth_getTransactionReceipt",
            json!([tx["hash"]]),
        ),
        (
            format!("action=eth_getTransactionCount&address={account}&tag=latest"),
            "eth_getTransactionCount",
            json!([account, "latest"]),
        ),
        (format!("action=eth_getCode&address={account}"), "eth_getCode", json!([account, "latest"])),
        (
            format!("action=eth_getStorageAt&address={account}&position=0x0"),
            "eth_getStorageAt",
            json!([account, "0x0", "latest"]),
        ),
        (
            format!("action=eth_call&to={account}&data=0x"),
            "eth_call",
            json!([{ "to": account, "data": "0x" }, "latest"]),
        ),
        (
            format!("action=eth_estimateGas&to={account}&value=0x1"),
            "eth_estimateGas",
            json!([{ "to": account, "value": "0x1" }]),
        ),
        ("action=eth_gasPrice".to_owned(), "eth_gasPrice", json!([])),
    ] {
        let answer = client.get(&format!("/api?module=proxy&{query}")).await;
        assert_eq!((answer.status, &answer.json["jsonrpc"]), (200, &json!("2.0")), "{query}: {}", answer.text);
        assert_eq!(answer.json["result"], anvil.rpc.call(method, params).await, "{query}");
    }
    let refused = client.get("/api?module=proxy&action=eth_sendRawTransaction&hex=0xabcd").await;
    assert!(refused.json["error"]["message"].is_string(), "{}", refused.text);

    let gas = result(client, "module=gastracker&action=gasoracle").await;
    assert_eq!(gas["LastBlock"], (truth.blocks.len() - 1).to_string());
    let price = |name: &str| gas[name].as_str().unwrap().parse::<f64>().unwrap();
    assert!(
        price("SafeGasPrice") <= price("ProposeGasPrice") && price("ProposeGasPrice") <= price("FastGasPrice"),
        "{gas}"
    );
    let next = quantity(&anvil.rpc.call("eth_feeHistory", json!(["0x1", "latest", []])).await["baseFeePerGas"][1]);
    #[expect(clippy::cast_precision_loss)]
    let expected = next as f64 / 1e9;
    assert!((price("suggestBaseFee") - expected).abs() < 1e-9, "{gas}, {expected}");
    let seconds = result(client, "module=gastracker&action=gasestimate&gasprice=900000000000").await;
    assert!(seconds.as_str().unwrap().parse::<u64>().unwrap() >= 1);
}

/// The calls inside a trace that move value or create a contract, in order.
fn collect_calls(call: &Value, found: &mut Vec<Value>) {
    for inner in call["calls"].as_array().into_iter().flatten() {
        let kind = lower(&inner["type"]);
        let has_value = inner["value"]
            .as_str()
            .is_some_and(|value| value.trim_start_matches("0x").bytes().any(|digit| digit != b'0'));
        if kind.starts_with("create") || has_value && matches!(kind.as_str(), "call" | "selfdestruct") {
            found.push(inner.clone());
        }
        collect_calls(inner, found);
    }
}
