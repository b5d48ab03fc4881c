use async_trait::async_trait;
use domain::{B256, BlockRange, Bytes, IndexedLog, LogEvent, LogFilter, LogPage, MAX_TOPICS, Page, PageRequest};
use futures::future::BoxFuture;
use store::{ChainReader, ListKey, ListKind, LogReader, Party, StoreError, log_data};
use tokio_postgres::Row;

use super::{
    intersections::Lists,
    pages::{KNOWN_PAGE, page_of},
    select::{Condition, PageParameters, address_id, page_of_owner, single_page},
    spans::Numbering,
    walk::{self, Walk},
};
use crate::{
    database::{Connection, find, get, query},
    reader::{PostgresReader, read_lists, read_statement},
    rows::{RowExt, int8},
    tables::Rows,
};

#[async_trait]
impl LogReader for PostgresReader {
    async fn list_logs(&self, filter: &LogFilter, page: PageRequest) -> Result<LogPage, StoreError> {
        let page = async {
            match SingleList::of(filter) {
                Some(list) => read_statement!(self, |client| list_logs_of(&client, &list, filter.blocks, page)),
                None => read_lists!(self, |client, lists| list_logs(&client, lists, filter, page)),
            }
        };
        let page: Page<IndexedLog> = page.await?;
        Ok(LogPage { page, complete_from: self.coverage().await?.first_block })
    }
}

const LOGS: Rows = Rows {
    columns: "x.transaction - b.transactions, x.log_index, e.address, array[t0.topic, t1.topic, t2.topic, t3.topic],
        x.packed_data, t.hash, t.block, b.timestamp, num_nonnulls(nullif(s.topic, -1), x.topic1, x.topic2, x.topic3)",
    joins: "left join lateral log_by_id(u.id) x on true left join log_source s on s.id = x.source left join address e on e.id = s.emitter
        left join log_topic t0 on t0.id = s.topic left join log_topic t1 on t1.id = x.topic1
        left join log_topic t2 on t2.id = x.topic2 left join log_topic t3 on t3.id = x.topic3
        left join transaction t on t.id = x.transaction left join block b on b.number = t.block",
};

fn log_from_row(row: &Row) -> Result<IndexedLog, StoreError> {
    let tx_index = u32::try_from(row.value::<i64>(2)?);
    let topics = row.value::<Vec<Option<&[u8]>>>(5)?.into_iter().flatten();
    let topics = topics.map(crate::rows::to_hash).collect::<Result<Vec<B256>, _>>()?;
    if usize::try_from(row.value::<i32>(10)?) != Ok(topics.len()) {
        return Err(StoreError::Corrupt("a topic is missing"));
    }
    let (data, data_size) = unpacked(row.value(6)?)?;
    Ok(IndexedLog {
        event: LogEvent {
            tx_index: tx_index.map_err(|_| StoreError::Corrupt("a log outside its block"))?,
            log_index: row.u32(3)?,
            address: row.address(4)?,
            topics,
            data,
            data_size,
        },
        tx_hash: row.hash(7)?,
        block_number: row.u64(8)?,
        timestamp: row.u64(9)?,
    })
}

/// The data of a log, if it was not too long to be stored, and its size.
fn unpacked(packed: &[u8]) -> Result<(Option<Bytes>, u32), StoreError> {
    let (size, words) = match packed {
        [u8::MAX, rest @ ..] => rest.split_first_chunk().map(|(size, words)| (u32::from_be_bytes(*size), words)),
        [words, rest @ ..] => Some((u32::from(*words) * 32, rest)),
        [] => None,
    }
    .ok_or(StoreError::Corrupt("the data of a log has no size"))?;
    if words.is_empty() && size > 0 {
        return Ok((None, size));
    }
    let data = log_data::unpack(words, size).ok_or(StoreError::Corrupt("the data of a log is not of its size"))?;
    Ok((Some(data.into()), size))
}

/// The one list, or the whole chain, that a filter selects.
struct SingleList {
    page: String,
    keys: Vec<Vec<u8>>,
}

impl SingleList {
    /// None if a filter combines lists.
    fn of(filter: &LogFilter) -> Option<Self> {
        let mut topics =
            ListKind::OF_TOPICS.into_iter().zip(&filter.topics).filter_map(|(kind, topic)| Some((kind, (*topic)?)));
        let address =
            filter.address.map(|address| Condition { kind: ListKind::EmitterLogs, address, party: Party::Any });
        let page = |kind: ListKind, owner| page_of_owner(Numbering::Logs, kind.into(), Party::Any, owner);
        Some(match (address, topics.next(), topics.next()) {
            (address, None, _) => Self {
                page: single_page(Numbering::Logs, address),
                keys: address.iter().map(|condition| condition.address.to_vec()).collect(),
            },
            (None, Some((kind, topic)), None) => {
                Self { page: page(kind, "select id from log_topic where topic = $6"), keys: vec![topic.to_vec()] }
            }
            (Some(condition), Some((ListKind::Topic0Logs, topic)), None) => Self {
                page: page(
                    ListKind::SourceLogs,
                    "select s.id from address a join log_topic t on t.topic = $7
                    join log_source s on s.emitter = a.id and s.topic = t.id where a.address = $6",
                ),
                keys: vec![condition.address.to_vec(), topic.to_vec()],
            },
            _ => return None,
        })
    }
}

async fn list_logs_of(
    client: &dyn Connection,
    list: &SingleList,
    blocks: BlockRange,
    page: PageRequest,
) -> Result<Page<IndexedLog>, StoreError> {
    let parameters = PageParameters::of_owner(blocks, page, list.keys.clone());
    page_of(&parameters.query(client, &LOGS.statement(&list.page)).await?, log_from_row)
}

/// The logs that are in several lists. Needs a snapshot.
async fn list_logs(
    client: &dyn Connection,
    lists: Lists<'_>,
    filter: &LogFilter,
    page: PageRequest,
) -> Result<Option<Page<IndexedLog>>, StoreError> {
    let Some(filter_ids) = FilterIds::find(client, filter).await? else { return Ok(Some(Page::empty(0))) };
    let wanted = |list: ListKey| walk::Required { lists: vec![list], party: Party::Any };
    let keep = |ids| Box::pin(filter_ids.keep(client, ids)) as BoxFuture<'_, _>;
    let combined = filter_ids.lists().into_iter().map(wanted).collect();
    let walk = Walk { client, required: combined, rows: Some(&keep), step: lists.intersections.step() };
    let name = format!("{:?} {:?}", filter.address, filter.topics);
    let found = lists.page(&walk, Numbering::Logs, name, filter.blocks, page).await?;
    let Some(Page { items, total }) = found else { return Ok(None) };
    page_of(&query(client, &LOGS.statement(KNOWN_PAGE), &[&int8(total), &items]).await?, log_from_row).map(Some)
}

/// A filter by ids.
struct FilterIds {
    emitter: Option<u64>,
    topics: [Option<u64>; MAX_TOPICS],
    /// The emitter with the first topic, if both are given.
    source: Option<u64>,
}

impl FilterIds {
    /// None if the filter cannot be satisfied.
    async fn find(client: &dyn Connection, filter: &LogFilter) -> Result<Option<Self>, StoreError> {
        let mut filter_ids = Self { emitter: None, topics: [None; MAX_TOPICS], source: None };
        if let Some(address) = &filter.address {
            filter_ids.emitter = address_id(client, address).await?;
            if filter_ids.emitter.is_none() {
                return Ok(None);
            }
        }
        for (id, topic) in filter_ids.topics.iter_mut().zip(&filter.topics) {
            let Some(topic) = topic else { continue };
            *id = topic_id(client, topic).await?;
            if id.is_none() {
                return Ok(None);
            }
        }
        if let (Some(emitter), [Some(topic), ..]) = (filter_ids.emitter, filter_ids.topics) {
            filter_ids.source = source_id(client, emitter, topic).await?;
            if filter_ids.source.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(filter_ids))
    }

    /// The lists that a log must be in. An emitter with a first topic has a list of its own.
    fn lists(&self) -> Vec<ListKey> {
        let topics = ListKind::OF_TOPICS.into_iter().zip(self.topics).filter_map(|(kind, topic)| Some(kind.of(topic?)));
        match (self.source, self.emitter) {
            (Some(source), _) => {
                let later = topics.filter(|list| list.kind != ListKind::Topic0Logs);
                std::iter::once(ListKind::SourceLogs.of(source)).chain(later).collect()
            }
            (None, Some(emitter)) => std::iter::once(ListKind::EmitterLogs.of(emitter)).chain(topics).collect(),
            (None, None) => topics.collect(),
        }
    }

    /// The ids of logs that satisfy the filter.
    async fn keep(&self, client: &dyn Connection, ids: Vec<i64>) -> Result<Vec<i64>, StoreError> {
        let sql = "select coalesce(array_agg(u.id order by u.id), '{}') from unnest($1::int8[]) u(id)
            cross join lateral log_by_id(u.id) x join log_source s on s.id = x.source
            where ($2::int8 is null or s.emitter = $2) and ($3::int8 is null or s.topic = $3)
                and ($4::int8 is null or x.topic1 = $4) and ($5::int8 is null or x.topic2 = $5)
                and ($6::int8 is null or x.topic3 = $6)";
        let [topic0, topic1, topic2, topic3] = self.topics.map(|topic| topic.map(int8));
        get(client, sql, &[&ids, &self.emitter.map(int8), &topic0, &topic1, &topic2, &topic3]).await?.value(0)
    }
}

async fn topic_id(client: &dyn Connection, topic: &B256) -> Result<Option<u64>, StoreError> {
    let row = find(client, "select id from log_topic where topic = $1", &[&topic.as_slice()]).await?;
    row.map(|row| row.u64(0)).transpose()
}

async fn source_id(client: &dyn Connection, emitter: u64, topic: u64) -> Result<Option<u64>, StoreError> {
    let sql = "select id from log_source where emitter = $1 and topic = $2";
    let row = find(client, sql, &[&int8(emitter), &int8(topic)]).await?;
    row.map(|row| row.u64(0)).transpose()
}
