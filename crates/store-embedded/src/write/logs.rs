use store::{ChainTotals, StoreError};

use super::dictionary::drop_values;
use crate::{
    engine::{Batch, View},
    keys::{Key, Table},
    rows::{LogSource, topic_from_row},
};

/// Deletes the logs above a block, and the topics and sources that were first seen there.
pub(super) fn revert(view: &View, batch: &mut Batch, kept: &ChainTotals, all: &ChainTotals) -> Result<(), StoreError> {
    for id in kept.logs..all.logs {
        batch.delete(Table::Log, &Key::id(id));
    }
    drop_values(view, batch, kept.log_topics..all.log_topics, topic_from_row)?;
    drop_values(view, batch, kept.log_sources..all.log_sources, LogSource::from_row)
}
