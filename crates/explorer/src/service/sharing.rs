//! What processes on one database share: the status of following, and the work on webhooks.

pub(super) mod chain;
pub(super) mod compaction;
pub(super) mod matching;
pub(super) mod queues;
pub(super) mod status;
