//! Logs, pools and trades.

use domain::{BlockNumber, LogEvent, Pool, TradeEvent};

use super::Walk;
use crate::{
    StoreError,
    rules::{BlockSink, Exchange, LogIds, PoolIds, lists_of_log, lists_of_trade},
};

impl<S: BlockSink> Walk<S> {
    pub(super) fn add_log(&mut self, tx: u64, event: &LogEvent, block: BlockNumber) -> Result<(), StoreError> {
        let emitter = self.address_id(event.address, block)?;
        let mut topics: Vec<u64> = Vec::with_capacity(event.topics.len());
        for topic in &event.topics {
            topics.push(self.sink.topic_id(*topic, &mut self.totals.log_topics)?);
        }
        let source = self.sink.log_source_id(emitter, topics.first().copied(), &mut self.totals.log_sources)?;
        let id = self.totals.logs;
        self.totals.logs += 1;
        self.sink.put_log(id, tx, event, LogIds { source, topics: &topics })?;
        self.append(id, lists_of_log(emitter, source, topics))
    }

    /// Keeps a pool, unless it is known.
    pub(super) fn add_pool(&mut self, pool: &Pool, block: BlockNumber) -> Result<(), StoreError> {
        let id = self.address_id(pool.address, block)?;
        if self.sink.find_exchange(id)?.is_some() {
            return Ok(());
        }
        let exchange = Exchange { style: pool.style, factory: self.address_id(pool.factory, block)? };
        let token0 = self.address_id(pool.token0, block)?;
        let token1 = self.address_id(pool.token1, block)?;
        self.sink.put_pool(id, PoolIds { exchange, token0, token1 }, block)
    }

    pub(super) fn add_trade(
        &mut self,
        tx: u64,
        maker: u64,
        event: &TradeEvent,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        let pool = self.address_id(event.pool, block)?;
        let exchange = self.sink.find_exchange(pool)?.ok_or(StoreError::UnknownPool { pool: event.pool })?;
        let id = self.totals.trades;
        self.totals.trades += 1;
        self.sink.put_trade(id, tx, event, pool)?;
        self.append(id, lists_of_trade(maker, pool, exchange))
    }
}
