use crate::{lists::AddressId, rows::int8};

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
