//! The ids of topics and sources of logs.

use std::collections::{BTreeSet, HashSet};

use domain::{Address, B256, BlockChanges, LogEvent};
use foldhash::fast::RandomState;
use store::StoreError;

use super::{log_source::LogSource, state::WriteState};
use crate::{
    database::{Connection, query},
    lists::AddressId,
    maps::FastMap,
    rows::{RowExt, int8},
};

/// The ids of all known topics in the blocks.
pub(super) async fn topics(
    client: &dyn Connection,
    state: &mut WriteState,
    blocks: &[BlockChanges],
) -> Result<FastMap<B256, u64>, StoreError> {
    let logs = blocks.iter().flat_map(|changes| &changes.logs);
    let all: HashSet<B256, RandomState> = logs.flat_map(|log| log.topics.iter().copied()).collect();
    let mut known = FastMap::default();
    let mut unknown: Vec<B256> = Vec::new();
    for topic in all {
        match state.topics.get(&topic) {
            Some(id) => {
                known.insert(topic, *id);
            }
            None => unknown.push(topic),
        }
    }
    for part in unknown.chunks(20_000) {
        let part: Vec<&[u8]> = part.iter().map(|topic| topic.as_slice()).collect();
        for row in query(client, "select topic, id from log_topic where topic = any($1)", &[&part]).await? {
            let (topic, id) = (row.hash(0)?, row.u64(1)?);
            known.insert(topic, id);
            state.topics.insert(topic, id);
        }
    }
    Ok(known)
}

/// The ids of all known sources in the blocks, given those of their addresses and topics.
pub(super) async fn sources(
    client: &dyn Connection,
    state: &mut WriteState,
    blocks: &[BlockChanges],
    addresses: &FastMap<Address, AddressId>,
    topics: &FastMap<B256, u64>,
) -> Result<FastMap<LogSource, u64>, StoreError> {
    let source = |log: &LogEvent| {
        let topic = match log.topics.first() {
            Some(topic) => Some(*topics.get(topic)?),
            None => None,
        };
        Some(LogSource { emitter: *addresses.get(&log.address)?, topic })
    };
    let all: BTreeSet<LogSource> = blocks.iter().flat_map(|changes| &changes.logs).filter_map(source).collect();
    let mut known = FastMap::default();
    let mut unknown: Vec<LogSource> = Vec::new();
    for source in all {
        match state.log_sources.get(&source) {
            Some(id) => {
                known.insert(source, *id);
            }
            None => unknown.push(source),
        }
    }
    let sql = "select s.emitter, s.topic, s.id from unnest($1::int8[], $2::int8[]) as p(emitter, topic)
        join log_source s on s.emitter = p.emitter and s.topic = p.topic";
    for part in unknown.chunks(20_000) {
        let emitters: Vec<i64> = part.iter().map(|source| int8(source.emitter)).collect();
        let topics: Vec<i64> = part.iter().map(|source| source.topic_column()).collect();
        for row in query(client, sql, &[&emitters, &topics]).await? {
            let topic = u64::try_from(row.value::<i64>(1)?).ok();
            let (source, id) = (LogSource { emitter: row.u64(0)?, topic }, row.u64(2)?);
            known.insert(source, id);
            state.log_sources.insert(source, id);
        }
    }
    Ok(known)
}
