use async_trait::async_trait;
use domain::{B256, IndexedLog, LogEvent, LogFilter, LogPage, Page, PageRequest};
use store::{LogReader, StoreError};

use super::{
    conditions::{Condition, ReadError},
    snapshot::ReadSnapshot,
};
use crate::{
    keys::{AddressId, Key, ListKind, SourceId, Table, TopicId, number_in_key},
    lists::{List, Role},
    reader::EmbeddedReader,
    rows::{LogRow, LogSource, topic_from_row},
};

#[async_trait]
impl LogReader for EmbeddedReader {
    async fn list_logs(&self, filter: &LogFilter, page: PageRequest) -> Result<LogPage, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_logs(&filter, page)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn list_logs(&self, filter: &LogFilter, page: PageRequest) -> Result<LogPage, ReadError> {
        let complete_from = self.tip().map(|tip| tip.start_block);
        let Some(conditions) = self.log_conditions(filter)? else { return Ok(LogPage::empty(complete_from)) };
        let Page { items, total } = self.select(&conditions, filter.blocks, |totals| totals.logs, page)?;
        let rows = self.rows(Table::Log, &items)?;
        let rows = rows.iter().map(|row| LogRow::from_row(row)).collect::<Result<Vec<_>, _>>()?;
        self.read_positions(rows.iter().map(|row| row.tx))?;
        let items = rows.into_iter().map(|row| self.hydrate_log(row)).collect::<Result<_, StoreError>>()?;
        Ok(LogPage { page: Page { items, total }, complete_from })
    }

    /// The number of logs that an address emitted.
    pub(super) fn count_logs(&self, emitter: AddressId) -> Result<u64, StoreError> {
        Ok(List::open(&self.view, ListKind::EmitterLogs.of(emitter))?.total(Role::Any))
    }

    /// The filter as conditions on lists; None if they cannot be satisfied. An emitter with a first topic has a list of
    /// its own.
    fn log_conditions(&self, filter: &LogFilter) -> Result<Option<Vec<Condition>>, StoreError> {
        let mut conditions = Vec::new();
        let mut require =
            |list: ListKind, owner: u64| conditions.push(Condition { list: list.of(owner), role: Role::Any });
        let emitter = match &filter.address {
            Some(address) => {
                let Some(emitter) = self.address_id(address)? else { return Ok(None) };
                Some(emitter)
            }
            None => None,
        };
        for ((position, list), topic) in ListKind::OF_TOPICS.into_iter().enumerate().zip(filter.topics) {
            let Some(topic) = topic else { continue };
            let Some(topic) = self.topic_id(&topic)? else { return Ok(None) };
            match emitter.filter(|_| position == 0) {
                Some(emitter) => match self.source_id(emitter, topic)? {
                    Some(source) => require(ListKind::SourceLogs, source),
                    None => return Ok(None),
                },
                None => require(list, topic),
            }
        }
        if let Some(emitter) = emitter.filter(|_| filter.topics[0].is_none()) {
            require(ListKind::EmitterLogs, emitter);
        }
        Ok(Some(conditions))
    }

    fn topic_id(&self, topic: &B256) -> Result<Option<TopicId>, StoreError> {
        self.view.get(Table::LogTopicId, &Key::topic(topic))?.map(|row| number_in_key(&row, 0)).transpose()
    }

    fn source_id(&self, emitter: AddressId, topic: TopicId) -> Result<Option<SourceId>, StoreError> {
        let row = self.view.get(Table::LogSourceId, &Key::source(emitter, Some(topic)))?;
        row.map(|row| number_in_key(&row, 0)).transpose()
    }

    fn topic(&self, id: TopicId) -> Result<B256, StoreError> {
        if let Some(topic) = self.topics.borrow().get(&id) {
            return Ok(*topic);
        }
        let row = self.view.get(Table::LogTopic, &Key::id(id))?;
        let topic = topic_from_row(&row.ok_or(StoreError::Corrupt("a topic is missing"))?)?;
        self.topics.borrow_mut().insert(id, topic);
        Ok(topic)
    }

    fn hydrate_log(&self, row: LogRow) -> Result<IndexedLog, StoreError> {
        let source = self.view.get(Table::LogSource, &Key::id(row.source))?;
        let source = LogSource::from_row(&source.ok_or(StoreError::Corrupt("the source of a log is missing"))?)?;
        let position = self.transaction_position(row.tx)?;
        let topics = source.topic.into_iter().chain(row.topics).map(|topic| self.topic(topic));
        Ok(IndexedLog {
            event: LogEvent {
                tx_index: position.tx_index,
                log_index: row.log_index,
                address: self.address(source.emitter)?,
                topics: topics.collect::<Result<_, _>>()?,
                data: row.data,
                data_size: row.data_size,
            },
            tx_hash: position.tx_hash,
            block_number: position.block_number,
            timestamp: position.timestamp,
        })
    }
}
