use domain::{BlockNumber, LogEvent};
use store::{ChainTotals, StoreError};

use super::{commit::Step, dictionary::drop_values};
use crate::{
    engine::{Batch, View},
    keys::{Key, ListKind, TOPIC_LISTS, Table, TopicId, TxId},
    lists::{Entry, Roles},
    rows::{LogRow, LogSource, topic_from_row},
};

impl Step<'_, '_> {
    pub(super) fn add_log(&mut self, tx: TxId, event: &LogEvent, block: BlockNumber) -> Result<(), StoreError> {
        let emitter = self.address_id(event.address, block)?;
        let mut topics: Vec<TopicId> = Vec::with_capacity(event.topics.len());
        for topic in &event.topics {
            let ids = &mut self.state.topics;
            topics.push(ids.resolve(self.view, &mut self.batch, *topic, &mut self.totals.log_topics)?);
        }
        let source = LogSource { emitter, topic: topics.first().copied() };
        let ids = &mut self.state.log_sources;
        let source = ids.resolve(self.view, &mut self.batch, source, &mut self.totals.log_sources)?;

        let id = self.totals.logs;
        self.totals.logs += 1;
        let later_topics = topics.get(1..).unwrap_or_default();
        self.batch.put(Table::Log, &Key::id(id), LogRow::new(event, tx, source, later_topics).to_row());
        let entry = Entry { id, roles: Roles::NONE };
        self.append(ListKind::EmitterLogs.of(emitter), entry)?;
        self.append(ListKind::SourceLogs.of(source), entry)?;
        for (list, topic) in TOPIC_LISTS.into_iter().zip(topics) {
            self.append(list.of(topic), entry)?;
        }
        Ok(())
    }
}

/// Deletes the logs above a block, and the topics and sources that were first seen there.
pub(super) fn revert(view: &View, batch: &mut Batch, kept: &ChainTotals, all: &ChainTotals) -> Result<(), StoreError> {
    for id in kept.logs..all.logs {
        batch.delete(Table::Log, &Key::id(id));
    }
    drop_values(view, batch, kept.log_topics..all.log_topics, topic_from_row)?;
    drop_values(view, batch, kept.log_sources..all.log_sources, LogSource::from_row)
}
