//! Fetches, decodes and resolves blocks concurrently, and returns them in order.

use std::{collections::VecDeque, ops::RangeInclusive, sync::Arc, time::Duration};

use domain::{BlockChanges, BlockNumber, FetchedBlock};
use futures::future::BoxFuture;
use node::{NodeClient, NodeError};
use tokio_util::task::AbortOnDropHandle;

use crate::{IngestConfig, decode::decode_block, follow_error::FollowError, resolve::Resolver};

pub(crate) struct Fetched {
    pub(crate) changes: BlockChanges,
    /// Approximate bytes.
    pub(crate) weight: usize,
}

/// How often a block is requested again that the node announced and does not have, and the first pause; it doubles. A node behind a load
/// balancer, or one that fails now and then, has it the next time.
const MISSING_RETRIES: u32 = 4;
const MISSING_PAUSE: Duration = Duration::from_millis(10);

type Task = AbortOnDropHandle<Result<Option<Fetched>, FollowError>>;

/// A range of blocks being fetched. Dropping it cancels requests in flight.
pub(crate) struct BlockRun {
    node: NodeClient,
    resolver: Arc<Resolver>,
    in_flight: VecDeque<(BlockNumber, Task)>,
    next: BlockNumber,
    last: BlockNumber,
    last_given: BlockNumber,
    max_in_flight: usize,
    budget: usize,
    /// Moving estimate; a large block counts immediately, small ones gradually.
    typical_weight: usize,
}

impl BlockRun {
    pub(crate) fn start(
        node: &NodeClient,
        resolver: &Arc<Resolver>,
        numbers: RangeInclusive<BlockNumber>,
        config: &IngestConfig,
    ) -> Self {
        Self {
            node: node.clone(),
            resolver: Arc::clone(resolver),
            in_flight: VecDeque::new(),
            next: *numbers.start(),
            last: *numbers.end(),
            last_given: *numbers.start(),
            max_in_flight: config.window,
            budget: config.window_bytes,
            typical_weight: config.window_bytes / config.window.max(1),
        }
    }

    /// The next block, or None at the end of the range. `Ok(None)`: the node does not have it. After anything but a block,
    /// continue with [`Self::retry`] or drop the run.
    pub(crate) async fn next(&mut self) -> Option<Result<Option<Fetched>, FollowError>> {
        self.fill();
        let (number, task) = self.in_flight.pop_front()?;
        self.last_given = number;
        let result = match task.await {
            Ok(result) => result,
            Err(stopped) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
            // The runtime is shutting down.
            Err(_) => return None,
        };
        if let Ok(Some(fetched)) = &result {
            self.typical_weight = fetched.weight.max(self.typical_weight - self.typical_weight / 8);
        }
        Some(result)
    }

    /// Requests the block that [`Self::next`] did not return again, after a pause. Later blocks stay in flight.
    pub(crate) fn retry(&mut self, pause: Duration) {
        let number = self.last_given;
        self.in_flight.push_front((number, self.spawn(number, pause)));
    }

    fn fill(&mut self) {
        let affordable = self.budget / self.typical_weight.max(1);
        while self.next <= self.last && self.in_flight.len() < affordable.clamp(1, self.max_in_flight) {
            self.in_flight.push_back((self.next, self.spawn(self.next, Duration::ZERO)));
            self.next += 1;
        }
    }

    fn spawn(&self, number: BlockNumber, pause: Duration) -> Task {
        let (node, resolver) = (self.node.clone(), Arc::clone(&self.resolver));
        AbortOnDropHandle::new(tokio::spawn(async move {
            let first = if pause.is_zero() {
                node.find_block_ahead(number)
            } else {
                tokio::time::sleep(pause).await;
                node.find_block(number)
            };
            let Some(mut fetched) = find_announced(first, &node, number).await? else { return Ok(None) };
            let weight = fetched.weight();
            let inner_creations = resolver.trace(&mut fetched).await;
            let changes = resolver.resolve(decode_block(fetched, inner_creations)).await?;
            Ok(Some(Fetched { changes, weight }))
        }))
    }
}

/// Later blocks wait for one that is requested again.
async fn find_announced(
    first: BoxFuture<'_, Result<Option<FetchedBlock>, NodeError>>,
    node: &NodeClient,
    number: BlockNumber,
) -> Result<Option<FetchedBlock>, NodeError> {
    let mut found = first.await?;
    for tried in 0..MISSING_RETRIES {
        if found.is_some() {
            break;
        }
        tokio::time::sleep(MISSING_PAUSE * (1 << tried)).await;
        found = node.find_block(number).await?;
    }
    Ok(found)
}
