//! `module=logs`: logs by address and topics, from the index. Those of blocks that are not indexed are requested from the node in
//! bounded ranges.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::hex;
use client_address::Client;
use domain::{
    Address, B256, BlockId, BlockNumber, BlockRange, Bytes, IndexedLog, LogPage, MAX_TOPICS, Order, PageRequest,
};
use node::{FoundLog, LogFilter, NodeError};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    params::{PageParams, Params},
};
use crate::{app::App, error::DialectError};

pub(super) const MAX_LOGS: u32 = 1_000;
/// Of a list with alternatives, which is read from its beginning.
const MAX_MERGED: u64 = 10_000;
/// Logs of one alternative that are read at a time.
const MERGED_PART: u32 = 1_000;
/// Blocks of the first request to the node, and of any.
const FIRST_RANGE: u64 = 100;
const MAX_RANGE: u64 = 10_000;
/// Requests to the node.
const MAX_CALLS: u32 = 50;
/// Blocks whose long data is requested from the node.
const MAX_LONG_BLOCKS: u32 = 10;
const MAX_TIME: Duration = Duration::from_secs(20);
/// Bytes of data that are requested from the node.
const MAX_LONG_DATA: usize = 16 << 20;
const TOO_MUCH: &str = "Error! Query Timeout occured. Please select a smaller result dataset";

pub(super) async fn dispatch(app: &Arc<App>, client: Client, action: &str, params: &Params) -> Result<Answer, Failure> {
    match action {
        "getlogs" => list_logs(app, client, params).await,
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

    /// The alternatives, each with the topics that a log must have at these positions. Joined from the first condition to the
    /// last: `a or b and c` is `(a or b) and c`.
    fn alternatives(&self) -> Vec<[Option<B256>; MAX_TOPICS]> {
        let only =
            |(position, topic): &(usize, B256)| std::array::from_fn(|wanted| (wanted == *position).then_some(*topic));
        let Some((first, rest)) = self.given.split_first() else { return vec![[None; MAX_TOPICS]] };
        let mut alternatives: Vec<[Option<B256>; MAX_TOPICS]> = vec![only(first)];
        for ((position, topic), operator) in rest.iter().zip(&self.operators) {
            match operator {
                Operator::And => {
                    let required = alternatives.iter_mut().filter_map(|topics| topics.get_mut(*position));
                    required.for_each(|required| *required = Some(*topic));
                }
                Operator::Or => alternatives.push(only(&(*position, *topic))),
            }
        }
        alternatives
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

/// What is asked for.
pub(super) struct LogQuery {
    address: Option<Address>,
    topics: Topics,
    range: BlockRange,
    page: PageParams,
}

impl LogQuery {
    pub(super) fn read(params: &Params) -> Result<Self, Failure> {
        let address = params.find_address("address")?;
        let topics = Topics::read(params)?;
        if address.is_none() && topics.given.is_empty() {
            return Err(Failure::text("Error! Missing address or topic0"));
        }
        let page = params.page(MAX_LOGS)?;
        Ok(Self { address, topics, range: params.block_range("fromblock", "toblock")?, page })
    }

    /// Logs that are read, for the price.
    pub(super) fn scanned(&self) -> u32 {
        let alternatives = u32::try_from(self.topics.alternatives().len()).unwrap_or(u32::MAX);
        match alternatives {
            1 => self.page.rows,
            _ => u32::try_from(self.merged()).unwrap_or(u32::MAX).saturating_mul(alternatives),
        }
    }

    /// Calls to the node, for the price: none if the index has all blocks.
    pub(super) async fn node_calls(&self, app: &App) -> Result<u32, DialectError> {
        let first = app.services.chain.coverage().await?.first_block;
        let is_indexed = first.is_some_and(|first| first <= self.range.from.unwrap_or(0));
        Ok(if is_indexed { 0 } else { MAX_CALLS })
    }

    /// Logs up to the end of the page.
    fn merged(&self) -> u64 {
        self.page.skip.saturating_add(self.page.rows.into())
    }
}

async fn list_logs(app: &Arc<App>, client: Client, params: &Params) -> Result<Answer, Failure> {
    let query = LogQuery::read(params)?;
    let found = match find_indexed(app, client, &query).await? {
        Some(found) => found,
        None => {
            let _permit = app.node_call(client).await?;
            ask_node(app, &query).await?
        }
    };
    if found.is_empty() {
        return Err(Failure::empty("No records found"));
    }
    Ok(Answer::Result(rows(app, found).await?.into()))
}

/// Logs with these topics; None if the index does not have all blocks.
async fn list_alternative(
    app: &App,
    query: &LogQuery,
    topics: [Option<B256>; MAX_TOPICS],
    request: PageRequest,
) -> Result<Option<Vec<IndexedLog>>, Failure> {
    let filter = domain::LogFilter { address: query.address, topics, blocks: query.range };
    let LogPage { page, complete_from } = app.services.chain.list_logs(&filter, request).await?;
    let is_complete = complete_from.is_some_and(|from| from <= query.range.from.unwrap_or(0));
    Ok(is_complete.then_some(page.items))
}

/// A page of the index; None if it does not have all blocks.
async fn list_indexed(app: &App, query: &LogQuery) -> Result<Option<Vec<IndexedLog>>, Failure> {
    let alternatives = query.topics.alternatives();
    if let [topics] = alternatives.as_slice() {
        let page = PageRequest { offset: query.page.skip, limit: query.page.rows, order: Order::OldestFirst };
        return list_alternative(app, query, *topics, page).await;
    }
    if query.merged() > MAX_MERGED {
        return Err(Failure::text(TOO_MUCH));
    }
    // In the order of the chain, each once.
    let mut merged = BTreeMap::new();
    for topics in alternatives {
        let mut offset = 0;
        while offset < query.merged() {
            let limit = u32::try_from(query.merged() - offset).unwrap_or(MERGED_PART).min(MERGED_PART);
            let part = PageRequest { offset, limit, order: Order::OldestFirst };
            let Some(found) = list_alternative(app, query, topics, part).await? else { return Ok(None) };
            offset += u64::from(limit);
            let is_last = found.len() < limit as usize;
            merged.extend(found.into_iter().map(|log| ((log.block_number, log.event.log_index), log)));
            // More than the page needs is not kept.
            while merged.len() as u64 > query.merged() {
                merged.pop_last();
            }
            if is_last {
                break;
            }
            // Others take their turns between the parts.
            tokio::task::yield_now().await;
        }
    }
    let skip = usize::try_from(query.page.skip).unwrap_or(usize::MAX);
    Ok(Some(merged.into_values().skip(skip).take(query.page.rows as usize).collect()))
}

/// None if the index does not have them all.
async fn find_indexed(app: &App, client: Client, query: &LogQuery) -> Result<Option<Vec<FoundLog>>, Failure> {
    let Some(logs) = list_indexed(app, query).await? else { return Ok(None) };
    let mut found: Vec<FoundLog> = Vec::with_capacity(logs.len());
    let mut long_data = LongData { started: Instant::now(), bytes: 0, blocks: 0, block: None };
    for log in logs {
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
            None => {
                let _permit = app.node_call(client).await?;
                long_data.find(app, block_number, block_hash, event.log_index).await?
            }
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
    /// Requested so far.
    blocks: u32,
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
            if self.blocks >= MAX_LONG_BLOCKS {
                return Err(Failure::text(TOO_MUCH));
            }
            self.blocks += 1;
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

async fn ask_node(app: &App, query: &LogQuery) -> Result<Vec<FoundLog>, Failure> {
    let LogQuery { address, topics, range, page } = query;
    let tip = app.tip().await?.number;
    let (mut next, last) = (range.from.unwrap_or(0), range.to.unwrap_or(tip).min(tip));
    let (mut skip, mut step) = (page.skip, FIRST_RANGE);
    let alternatives = topics.alternatives();
    let (started, mut found) = (Instant::now(), Vec::new());
    let (mut calls_left, mut bytes) = (MAX_CALLS, 0);
    while next <= last && found.len() < page.rows as usize {
        let to = next.saturating_add(step - 1).min(last);
        // Each alternative with its conditions: without them, the node would send everything.
        let mut part = Vec::new();
        let mut failed = None;
        for topics in &alternatives {
            if started.elapsed() > MAX_TIME || calls_left == 0 || bytes > MAX_LONG_DATA {
                return Err(Failure::text(TOO_MUCH));
            }
            calls_left -= 1;
            let filter = LogFilter { from: next, to, address: *address, topics: *topics };
            match app.services.node.logs(&filter).await {
                Ok(logs) => part.extend(logs),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        match failed {
            None => {}
            // Nodes limit the number of blocks or of logs.
            Some(NodeError::Rpc { .. } | NodeError::Limited { .. } | NodeError::InvalidResponse { .. }) if step > 1 => {
                step = (step / 4).max(1);
                continue;
            }
            Some(error) => return Err(error.into()),
        }
        next = to + 1;
        if part.len() < MAX_LOGS as usize {
            step = (step * 2).min(MAX_RANGE);
        }
        part.sort_unstable_by_key(|log| (log.block_number, log.log_index));
        part.dedup_by_key(|log| (log.block_number, log.log_index));
        for log in part.into_iter().filter(|log| topics.matches(log)) {
            if skip > 0 {
                skip -= 1;
            } else if found.len() < page.rows as usize {
                bytes += log.data.len();
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
        assert_eq!(all.alternatives(), [[Some(topic(1)), Some(topic(2)), None, None]]);
        let any = Topics { given, operators: vec![Operator::Or] };
        assert!(any.matches(&log(&[1, 3])) && any.matches(&log(&[3, 2])) && !any.matches(&log(&[3, 3])));
        assert_eq!(any.alternatives(), [[Some(topic(1)), None, None, None], [None, Some(topic(2)), None, None]]);
        let none = Topics { given: vec![], operators: vec![] };
        assert!(none.matches(&log(&[])));
        assert_eq!(none.alternatives(), [[None; 4]]);
    }

    #[test]
    fn alternatives_are_what_the_joined_conditions_say() {
        let given = vec![(0, topic(1)), (1, topic(2)), (2, topic(3)), (3, topic(4))];
        for bits in 0..8_u8 {
            let operator = |bit: u8| if bits & 1 << bit == 0 { Operator::And } else { Operator::Or };
            let topics = Topics { given: given.clone(), operators: (0..3).map(operator).collect() };
            let alternatives = topics.alternatives();
            assert!(alternatives.len() <= 4);
            for present in 0..16_u8 {
                let found: Vec<u8> =
                    (0..4).map(|position| if present & 1 << position == 0 { 9 } else { position + 1 }).collect();
                let found = log(&found);
                let required = |topics: &[Option<B256>; MAX_TOPICS]| {
                    topics.iter().zip(&found.topics).all(|(wanted, found)| wanted.is_none_or(|wanted| wanted == *found))
                };
                assert_eq!(alternatives.iter().any(required), topics.matches(&found), "{topics:?} {found:?}");
            }
        }
    }
}
