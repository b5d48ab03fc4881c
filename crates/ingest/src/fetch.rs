//! Blocks in order, fetched, decoded and resolved many at a time.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use domain::{BlockChanges, BlockNumber};
use node::NodeClient;
use tokio_util::task::AbortOnDropHandle;

use crate::IngestConfig;
use crate::decode::decode_block;
use crate::resolve::Resolver;
use crate::setback::Setback;

pub(crate) struct Fetched {
    pub(crate) changes: BlockChanges,
    /// Bytes, about.
    pub(crate) weight: usize,
}

type Task = AbortOnDropHandle<Result<Option<Fetched>, Setback>>;

/// A run of blocks on its way. Dropping it stops what is under way.
pub(crate) struct BlockRun {
    node: NodeClient,
    resolver: Arc<Resolver>,
    under_way: VecDeque<Task>,
    next: BlockNumber,
    last: BlockNumber,
    most_at_once: usize,
    budget: usize,
    /// Of late; a heavy block counts at once, a light one by and by.
    usual_weight: usize,
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
            under_way: VecDeque::new(),
            next: *numbers.start(),
            last: *numbers.end(),
            most_at_once: config.window,
            budget: config.window_bytes,
            usual_weight: config.window_bytes / config.window.max(1),
        }
    }

    /// The next block, or None at the end of the run. `Ok(None)`: the node does not have it.
    pub(crate) async fn next(&mut self) -> Option<Result<Option<Fetched>, Setback>> {
        self.fill();
        let task = self.under_way.pop_front()?;
        let result = match task.await {
            Ok(result) => result,
            Err(stopped) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
            // The runtime is shutting down, and so is whoever asked.
            Err(_) => return None,
        };
        if let Ok(Some(fetched)) = &result {
            self.usual_weight = fetched.weight.max(self.usual_weight - self.usual_weight / 8);
        }
        Some(result)
    }

    fn fill(&mut self) {
        let affordable = self.budget / self.usual_weight.max(1);
        while self.next <= self.last && self.under_way.len() < affordable.clamp(1, self.most_at_once) {
            let (node, resolver, number) = (self.node.clone(), Arc::clone(&self.resolver), self.next);
            let task = tokio::spawn(async move {
                let Some(fetched) = node.find_block(number).await? else { return Ok(None) };
                let weight = fetched.weight();
                let inner_creations = resolver.find_inner_creations(&fetched).await;
                let changes = resolver.resolve(decode_block(fetched, inner_creations)).await?;
                Ok(Some(Fetched { changes, weight }))
            });
            self.under_way.push_back(AbortOnDropHandle::new(task));
            self.next += 1;
        }
    }
}
