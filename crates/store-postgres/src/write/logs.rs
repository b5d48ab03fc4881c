//! Logs of a commit.

use std::collections::{BTreeSet, HashSet};

use domain::{Address, B256, BlockChanges, BlockNumber, LogEvent};
use foldhash::fast::RandomState;
use store::StoreError;

use super::{
    WriteState,
    log_packs::LogPack,
    prefetch::{FastMap, Prefetched},
    step::Step,
};
use crate::{
    database::{Connection, query},
    lists::{AddressId, List, Role, TOPIC_LISTS},
    rows::{RowExt, int8},
};

/// An emitter with the id of a first topic; None is that of logs without topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LogSource {
    pub(super) emitter: AddressId,
    pub(super) topic: Option<u64>,
}

impl LogSource {
    pub(super) fn topic_column(self) -> i64 {
        self.topic.map_or(-1, int8)
    }
}

impl Step<'_> {
    pub(super) fn add_log(&mut self, tx: u64, event: &LogEvent, block: BlockNumber) {
        let emitter = self.address_id(event.address, block);
        let topics: Vec<u64> = event.topics.iter().map(|topic| self.topic_id(*topic)).collect();
        let source = self.source_id(LogSource { emitter, topic: topics.first().copied() });
        let id = self.totals.logs;
        self.totals.logs += 1;
        self.append(List::EmitterLogs, emitter, id, Role::Any);
        self.append(List::SourceLogs, source, id, Role::Any);
        for (list, topic) in TOPIC_LISTS.into_iter().zip(&topics) {
            self.append(list, *topic, id, Role::Any);
        }
        let later_topics = [1, 2, 3].map(|position| topics.get(position).copied());
        let mut pack = match self.rows.log_packs.pop() {
            Some(pack) if pack.takes(tx, event.log_index) => pack,
            full => {
                self.rows.log_packs.extend(full);
                LogPack::new(id, tx, event.log_index)
            }
        };
        pack.push(source, later_topics, event);
        self.rows.log_packs.push(pack);
    }

    fn topic_id(&mut self, topic: B256) -> u64 {
        if let Some(id) = self.known.topics.get(&topic) {
            return *id;
        }
        let id = self.totals.log_topics;
        self.totals.log_topics += 1;
        self.known.topics.insert(topic, id);
        self.rows.log_topics.push((id, topic));
        id
    }

    fn source_id(&mut self, source: LogSource) -> u64 {
        if let Some(id) = self.known.log_sources.get(&source) {
            return *id;
        }
        let id = self.totals.log_sources;
        self.totals.log_sources += 1;
        self.known.log_sources.insert(source, id);
        self.rows.log_sources.push((id, source));
        id
    }
}

impl Prefetched {
    /// Reads the ids of all known topics and sources in the blocks. Needs those of addresses.
    pub(super) async fn read_logs(
        &mut self,
        client: &dyn Connection,
        state: &mut WriteState,
        blocks: &[BlockChanges],
    ) -> Result<(), StoreError> {
        let logs = || blocks.iter().flat_map(|changes| &changes.logs);
        let all: HashSet<B256, RandomState> = logs().flat_map(|log| log.topics.iter().copied()).collect();
        self.topics = topics(client, state, all).await?;
        let id = |address: &Address| self.addresses.get(address).copied();
        let source = |log: &LogEvent| {
            let topic = match log.topics.first() {
                Some(topic) => Some(*self.topics.get(topic)?),
                None => None,
            };
            Some(LogSource { emitter: id(&log.address)?, topic })
        };
        let all: BTreeSet<LogSource> = logs().filter_map(source).collect();
        self.log_sources = sources(client, state, all).await?;
        Ok(())
    }
}

async fn topics(
    client: &dyn Connection,
    state: &mut WriteState,
    all: HashSet<B256, RandomState>,
) -> Result<FastMap<B256, u64>, StoreError> {
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

async fn sources(
    client: &dyn Connection,
    state: &mut WriteState,
    all: BTreeSet<LogSource>,
) -> Result<FastMap<LogSource, u64>, StoreError> {
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
