//! `module=logs`: logs by address and topics, from the index. Alternatives of topics, and blocks whose logs are not indexed, are
//! requested from the node in bounded ranges.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::hex;
use domain::{Address, B256, BlockId, BlockNumber, BlockRange, Bytes, LogPage, MAX_TOPICS, Order, PageRequest};
use node::{FoundLog, LogFilter, NodeError};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    params::{PageParams, Params},
};
use crate::{app::App, error::DialectError};

const MAX_LOGS: u32 = 1_000;
/// Blocks of the first request to the node, and of any.
const FIRST_RANGE: u64 = 1_000;
const MAX_RANGE: u64 = 10_000;
const MAX_TIME: Duration = Duration::from_secs(20);
/// Bytes of data that are requested from the node.
const MAX_LONG_DATA: usize = 16 << 20;
const TOO_MUCH: &str = "Error! Query Timeout occured. Please select a smaller result dataset";

pub(super) async fn dispatch(app: &Arc<App>, action: &str, params: &Params) -> Result<Answer, Failure> {
    match action {
        "getlogs" => list_logs(app, params).await,
        _ => Err(Failure::unknown_action()),
    }
}

/// Conditions on topics, joined from the first to the last.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Topics {
    /// By position.
    given: Vec<(usize, B256)>,
    /// Between two neighbours of `given`.
    operators: Vec<Operator>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    And,
    Or,
}

impl Topics {
    pub(super) fn read(params: &Params) -> Result<Self, Failure> {
        let mut given = Vec::new();
        for position in 0..4 {
            if let Some(topic) = params.find_hash(&format!("topic{position}"))? {
                given.push((position, topic));
            }
        }
        let operator = |((one, _), (other, _)): (&(usize, B256), &(usize, B256))| {
            let name = format!("topic{one}_{other}_opr");
            match params.find(&name).unwrap_or("and").to_ascii_lowercase().as_str() {
                "and" => Ok(Operator::And),
                "or" => Ok(Operator::Or),
                _ => Err(Failure::invalid(&name, "must be and or or")),
            }
        };
        let operators = given.iter().zip(given.iter().skip(1)).map(operator).collect::<Result<_, _>>()?;
        Ok(Self { given, operators })
    }

    fn has_alternatives(&self) -> bool {
        self.operators.contains(&Operator::Or)
    }

    /// The topics that every log must have.
    fn required(&self) -> [Option<B256>; MAX_TOPICS] {
        if self.has_alternatives() {
            return [None; MAX_TOPICS];
        }
        std::array::from_fn(|wanted| {
            self.given.iter().find(|(position, _)| *position == wanted).map(|(_, topic)| *topic)
        })
    }

    fn matches(&self, log: &FoundLog) -> bool {
        let has = |(position, topic): &(usize, B256)| log.topics.get(*position) == Some(topic);
        let Some((first, rest)) = self.given.split_first() else { return true };
        rest.iter().zip(&self.operators).fold(has(first), |so_far, (topic, operator)| match operator {
            Operator::And => so_far && has(topic),
            Operator::Or => so_far || has(topic),
        })
    }
}

async fn list_logs(app: &Arc<App>, params: &Params) -> Result<Answer, Failure> {
    let _permit = app.heavy.acquire().await;
    let address = params.find_address("address")?;
    let topics = Topics::read(params)?;
    if address.is_none() && topics.given.is_empty() {
        return Err(Failure::text("Error! Missing address or topic0"));
    }
    let page = params.page(MAX_LOGS)?;
    let range = params.block_range("fromblock", "toblock")?;
    let found = match find_indexed(app, address, &topics, range, &page).await? {
        Some(found) => found,
        None => ask_node(app, address, &topics, range, &page).await?,
    };
    if found.is_empty() {
        return Err(Failure::empty("No records found"));
    }
    Ok(Answer::Result(rows(app, found).await?.into()))
}

/// None if the index does not have them all.
async fn find_indexed(
    app: &App,
    address: Option<Address>,
    topics: &Topics,
    blocks: BlockRange,
    page: &PageParams,
) -> Result<Option<Vec<FoundLog>>, Failure> {
    if topics.has_alternatives() {
        return Ok(None);
    }
    let filter = domain::LogFilter { address, topics: topics.required(), blocks };
    let request = PageRequest { offset: page.skip, limit: page.rows, order: Order::OldestFirst };
    let LogPage { page, complete_from } = app.services.chain.list_logs(&filter, request).await?;
    if complete_from.is_none_or(|from| blocks.from.unwrap_or(0) < from) {
        return Ok(None);
    }
    let mut found: Vec<FoundLog> = Vec::with_capacity(page.items.len());
    let mut long_data = LongData { started: Instant::now(), bytes: 0, block: None };
    for log in page.items {
        let block_hash = match found.last().filter(|last| last.block_number == log.block_number) {
            Some(last) => last.block_hash,
            None => {
                let transaction = app.services.chain.find_transaction(log.tx_hash).await?;
                transaction.ok_or(DialectError::Moved)?.block_hash
            }
        };
        let (event, block_number) = (log.event, log.block_number);
        let data = match event.data {
            Some(data) => data,
            None => long_data.find(app, block_number, block_hash, event.log_index).await?,
        };
        found.push(FoundLog {
            block_number,
            block_hash,
            tx_hash: log.tx_hash,
            tx_index: event.tx_index.into(),
            log_index: event.log_index.into(),
            address: event.address,
            topics: event.topics,
            data,
        });
    }
    Ok(Some(found))
}

/// Data that is too long for the index: the node has it.
struct LongData {
    started: Instant,
    /// Found so far.
    bytes: usize,
    /// The logs of the block that was requested last.
    block: Option<(B256, Vec<FoundLog>)>,
}

impl LongData {
    async fn find(
        &mut self,
        app: &App,
        number: BlockNumber,
        block_hash: B256,
        log_index: u32,
    ) -> Result<Bytes, Failure> {
        if self.started.elapsed() > MAX_TIME || self.bytes > MAX_LONG_DATA {
            return Err(Failure::text(TOO_MUCH));
        }
        if self.block.as_ref().is_none_or(|(hash, _)| *hash != block_hash) {
            let filter = LogFilter { from: number, to: number, address: None, topics: [None; MAX_TOPICS] };
            self.block = Some((block_hash, app.services.node.logs(&filter).await?));
        }
        let logs = self.block.iter().flat_map(|(_, logs)| logs);
        let is_same = |log: &&FoundLog| log.block_hash == block_hash && log.log_index == u64::from(log_index);
        let data = logs.clone().find(is_same).ok_or(DialectError::Moved)?.data.clone();
        self.bytes += data.len();
        Ok(data)
    }
}

async fn ask_node(
    app: &App,
    address: Option<Address>,
    topics: &Topics,
    range: BlockRange,
    page: &PageParams,
) -> Result<Vec<FoundLog>, Failure> {
    let tip = app.tip().await?.number;
    let (mut next, last) = (range.from.unwrap_or(0), range.to.unwrap_or(tip).min(tip));
    let (mut skip, mut step) = (page.skip, FIRST_RANGE);
    let (started, mut found) = (Instant::now(), Vec::new());
    while next <= last && found.len() < page.rows as usize {
        if started.elapsed() > MAX_TIME {
            return Err(Failure::text(TOO_MUCH));
        }
        let to = next.saturating_add(step - 1).min(last);
        let filter = LogFilter { from: next, to, address, topics: topics.required() };
        let logs = match app.services.node.logs(&filter).await {
            Ok(logs) => logs,
            // Nodes limit the number of blocks or of logs.
            Err(NodeError::Rpc { .. } | NodeError::Limited { .. } | NodeError::InvalidResponse { .. }) if step > 1 => {
                step = (step / 4).max(1);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        next = to + 1;
        if logs.len() < MAX_LOGS as usize {
            step = (step * 2).min(MAX_RANGE);
        }
        for log in logs.into_iter().filter(|log| topics.matches(log)) {
            if skip > 0 {
                skip -= 1;
            } else if found.len() < page.rows as usize {
                found.push(log);
            }
        }
    }
    Ok(found)
}

async fn rows(app: &App, logs: Vec<FoundLog>) -> Result<Vec<Value>, Failure> {
    let chain = &app.services.chain;
    let mut times: HashMap<BlockNumber, u64> = HashMap::new();
    let mut transactions: HashMap<B256, (u128, u64)> = HashMap::new();
    let mut rows = Vec::with_capacity(logs.len());
    for log in logs {
        let timestamp = match times.get(&log.block_number) {
            Some(timestamp) => *timestamp,
            None => {
                let block = chain.find_block(BlockId::Hash(log.block_hash)).await?.ok_or(DialectError::Moved)?;
                *times.entry(log.block_number).or_insert(block.timestamp)
            }
        };
        let (price, used) = match transactions.get(&log.tx_hash) {
            Some(known) => *known,
            None => {
                let found = chain.find_transaction(log.tx_hash).await?.ok_or(DialectError::Moved)?;
                *transactions.entry(log.tx_hash).or_insert((found.gas_price, found.gas_used))
            }
        };
        let topics: Vec<String> = log.topics.iter().map(|topic| format!("{topic:#x}")).collect();
        rows.push(json!({
            "address": format!("{:#x}", log.address),
            "topics": topics,
            "data": hex::encode_prefixed(&log.data),
            "blockNumber": format!("{:#x}", log.block_number),
            "blockHash": format!("{:#x}", log.block_hash),
            "timeStamp": format!("{timestamp:#x}"),
            "gasPrice": format!("{price:#x}"),
            "gasUsed": format!("{used:#x}"),
            "logIndex": format!("{:#x}", log.log_index),
            "transactionHash": format!("{:#x}", log.tx_hash),
            "transactionIndex": format!("{:#x}", log.tx_index),
        }));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(byte: u8) -> B256 {
        B256::repeat_byte(byte)
    }

    fn log(topics: &[u8]) -> FoundLog {
        FoundLog {
            block_number: 0,
            block_hash: B256::ZERO,
            tx_hash: B256::ZERO,
            tx_index: 0,
            log_index: 0,
            address: Default::default(),
            topics: topics.iter().map(|byte| topic(*byte)).collect(),
            data: Default::default(),
        }
    }

    #[test]
    fn topics_are_joined_by_their_operators() {
        let given = vec![(0, topic(1)), (1, topic(2))];
        let all = Topics { given: given.clone(), operators: vec![Operator::And] };
        assert!(all.matches(&log(&[1, 2])) && !all.matches(&log(&[1, 3])) && !all.matches(&log(&[1])));
        assert_eq!(all.required(), [Some(topic(1)), Some(topic(2)), None, None]);
        let any = Topics { given, operators: vec![Operator::Or] };
        assert!(any.matches(&log(&[1, 3])) && any.matches(&log(&[3, 2])) && !any.matches(&log(&[3, 3])));
        assert_eq!(any.required(), [None; 4]);
        assert!(Topics { given: vec![], operators: vec![] }.matches(&log(&[])));
    }
}
