use domain::B256;
use serde_json::{Value, json};

use super::Reply;

pub(crate) fn text(hash: B256) -> String {
    hash.to_string()
}

/// A synthetic chain derived from its id, its branch and its contents.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    pub(crate) id: u64,
    pub(crate) head: u64,
    /// Branches differ from block 1 on; ids differ in the genesis block.
    pub(crate) branch: u8,
    pub(crate) transactions: u64,
    pub(crate) logs_each: u64,
}

impl Chain {
    pub(crate) fn new(head: u64) -> Self {
        Self { id: 1337, head, branch: 0, transactions: 3, logs_each: 2 }
    }

    pub(crate) fn hash(&self, number: u64) -> B256 {
        let mut hash = B256::left_padding_from(&number.to_be_bytes());
        hash[0] = if number == 0 { 0 } else { self.branch + 1 };
        hash[1..9].copy_from_slice(&self.id.to_be_bytes());
        hash
    }

    fn tx_hash(&self, number: u64, index: u64) -> String {
        let mut hash = self.hash(number);
        hash[0] = 0xff;
        hash[9..17].copy_from_slice(&(index + 1).to_be_bytes());
        text(hash)
    }

    pub(crate) fn block(&self, number: u64) -> Value {
        let transactions: Vec<Value> = (0..self.transactions)
            .map(|index| {
                json!({
                    "hash": self.tx_hash(number, index), "blockHash": text(self.hash(number)),
                    "blockNumber": format!("{number:#x}"), "transactionIndex": format!("{index:#x}"),
                    "from": format!("{:#042x}", index + 1), "to": format!("{:#042x}", index + 2), "value": "0x1",
                    "nonce": "0x0", "gasPrice": "0x3", "input": "0x", "type": "0x0", "v": "0x1", "r": "0x1", "s": "0x1",
                })
            })
            .collect();
        let mut block = self.header(number);
        block["transactions"] = Value::Array(transactions);
        block
    }

    pub(crate) fn header(&self, number: u64) -> Value {
        json!({
            "number": format!("{number:#x}"), "hash": text(self.hash(number)), "parentHash": text(self.hash(number.saturating_sub(1))),
            "timestamp": "0x64", "miner": format!("{:#042x}", 9), "gasUsed": "0x5208", "gasLimit": "0x1c9c380",
            "baseFeePerGas": "0x2", "size": "0x200", "logsBloom": format!("0x{}", "00".repeat(256)), "uncles": [],
            "transactions": (0..self.transactions).map(|index| self.tx_hash(number, index)).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn receipts(&self, number: u64) -> Value {
        (0..self.transactions).map(|index| self.receipt(number, index)).collect()
    }

    fn receipt(&self, number: u64, index: u64) -> Value {
        let logs: Vec<Value> = (0..self.logs_each)
            .map(|log| {
                json!({
                    "address": format!("{:#042x}", 5), "topics": [text(B256::repeat_byte(1))], "data": "0x01",
                    "logIndex": format!("{:#x}", index * self.logs_each + log), "blockHash": text(self.hash(number)),
                    "transactionHash": self.tx_hash(number, index), "removed": false,
                })
            })
            .collect();
        json!({
            "transactionHash": self.tx_hash(number, index), "transactionIndex": format!("{index:#x}"),
            "blockHash": text(self.hash(number)), "gasUsed": "0x5208", "effectiveGasPrice": "0x3", "status": "0x1",
            "contractAddress": null, "logs": logs,
        })
    }

    /// The height selected by number, tag or hash.
    fn height(&self, block: &Value) -> Option<u64> {
        let named = block["blockHash"].as_str().or_else(|| block.as_str())?;
        let number = match named {
            "latest" => self.head,
            "finalized" => self.head.saturating_sub(2),
            hash if hash.len() == 66 => (0..=self.head).find(|number| self.hash(*number).to_string() == hash)?,
            number => u64::from_str_radix(number.trim_start_matches("0x"), 16).ok()?,
        };
        (number <= self.head).then_some(number)
    }

    pub(crate) fn answer(&self, method: &str, params: &Value) -> Reply {
        let state = |value: Value| match self.height(&params[1]) {
            Some(_) => Reply::Result(value),
            None => Reply::Error(-32000, "header not found"),
        };
        match method {
            "eth_chainId" => Reply::Result(json!(format!("{:#x}", self.id))),
            "eth_blockNumber" => Reply::Result(json!(format!("{:#x}", self.head))),
            "eth_getBlockByNumber" => Reply::Result(self.height(&params[0]).map_or(Value::Null, |number| {
                if params[1] == json!(true) { self.block(number) } else { self.header(number) }
            })),
            "eth_getBlockReceipts" => {
                Reply::Result(self.height(&params[0]).map_or(Value::Null, |number| self.receipts(number)))
            }
            "eth_getTransactionReceipt" => {
                let all = (0..=self.head).flat_map(|number| (0..self.transactions).map(move |index| (number, index)));
                let found = all.into_iter().find(|(number, index)| json!(self.tx_hash(*number, *index)) == params[0]);
                Reply::Result(found.map_or(Value::Null, |(number, index)| self.receipt(number, index)))
            }
            "eth_getBalance" => state(json!("0xde0b6b3a7640000")),
            "eth_getTransactionCount" => state(json!("0x7")),
            "eth_getCode" => state(json!("0x6001")),
            _ => Reply::Error(-32601, "the method does not exist/is not available"),
        }
    }
}
