//! `eth_getLogs`: logs by address and topics.

use domain::{Address, B256, BlockNumber, Bytes};
use futures::future::BoxFuture;
use serde::Deserialize;

use crate::{
    client::NodeClient,
    decode::{Account20, Hash, HexBytes, Quantity},
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
};

/// Which logs to return: all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter {
    /// Inclusive, as is `to`.
    pub from: BlockNumber,
    pub to: BlockNumber,
    pub address: Option<Address>,
    pub topics: [Option<B256>; 4],
}

/// A log and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLog {
    pub block_number: BlockNumber,
    pub block_hash: B256,
    pub tx_hash: B256,
    pub tx_index: u64,
    pub log_index: u64,
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
}

impl NodeClient {
    /// Logs in chain order. The caller bounds the range: nodes reject long ones.
    pub fn logs<'a>(&'a self, filter: &'a LogFilter) -> BoxFuture<'a, Result<Vec<FoundLog>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_logs(&upstream, filter).await };
            self.with_retries(Operation::Logs, 2, request).await
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawFoundLog {
    block_number: Quantity,
    block_hash: Hash,
    transaction_hash: Hash,
    transaction_index: Quantity,
    log_index: Quantity,
    address: Account20,
    topics: Vec<Hash>,
    data: HexBytes,
}

impl LogFilter {
    fn params(&self) -> String {
        let address = self.address.map(|address| format!(r#","address":"{address:#x}""#)).unwrap_or_default();
        let given = self.topics.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let topics: Vec<String> = self
            .topics
            .iter()
            .take(given)
            .map(|topic| topic.map_or_else(|| "null".to_owned(), |topic| format!(r#""{topic:#x}""#)))
            .collect();
        let topics = if topics.is_empty() { String::new() } else { format!(r#","topics":[{}]"#, topics.join(",")) };
        format!(r#"[{{"fromBlock":"{:#x}","toBlock":"{:#x}"{address}{topics}}}]"#, self.from, self.to)
    }

    fn matches(&self, log: &RawFoundLog) -> bool {
        let topic = |(position, wanted): (usize, &Option<B256>)| {
            wanted.is_none_or(|wanted| log.topics.get(position).is_some_and(|topic| topic.0 == wanted))
        };
        (self.from..=self.to).contains(&log.block_number.0)
            && self.address.is_none_or(|address| log.address.0 == address)
            && self.topics.iter().enumerate().all(topic)
    }
}

/// In chain order.
pub(crate) async fn fetch_logs(upstream: &Upstream, filter: &LogFilter) -> Result<Vec<FoundLog>, NodeError> {
    let logs = upstream.call::<Vec<RawFoundLog>>(&Call::new(RpcMethod::GetLogs, filter.params())).await?;
    let logs = logs.ok_or_else(|| NodeError::invalid_response(RpcMethod::GetLogs, "null"))?;
    if !logs.iter().all(|log| filter.matches(log)) {
        return Err(NodeError::invalid_response(RpcMethod::GetLogs, "a log that was not requested"));
    }
    let mut logs: Vec<FoundLog> = logs
        .into_iter()
        .map(|log| FoundLog {
            block_number: log.block_number.0,
            block_hash: log.block_hash.0,
            tx_hash: log.transaction_hash.0,
            tx_index: log.transaction_index.0,
            log_index: log.log_index.0,
            address: log.address.0,
            topics: log.topics.into_iter().map(|topic| topic.0).collect(),
            data: log.data.0,
        })
        .collect();
    logs.sort_by_key(|log| (log.block_number, log.log_index));
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_contain_only_given_conditions() {
        let all = LogFilter { from: 1, to: 16, address: None, topics: [None; 4] };
        assert_eq!(all.params(), r#"[{"fromBlock":"0x1","toBlock":"0x10"}]"#);
        let topic = B256::repeat_byte(1);
        let some = LogFilter { address: Some(Address::repeat_byte(2)), topics: [None, Some(topic), None, None], ..all };
        let expected = format!(
            r#"[{{"fromBlock":"0x1","toBlock":"0x10","address":"0x{}","topics":[null,"0x{}"]}}]"#,
            "02".repeat(20),
            "01".repeat(32)
        );
        assert_eq!(some.params(), expected);
    }
}
