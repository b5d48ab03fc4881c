//! What was asked about an address once, and is remembered.

use domain::Address;
use quick_cache::sync::Cache;

use crate::setback::Setback;

/// Many who ask for the same at once cause one question. What fails is asked again by the next.
pub(crate) struct AskedOnce<Answer> {
    known: Cache<Address, Answer>,
}

impl<Answer: Clone> AskedOnce<Answer> {
    pub(crate) fn new(remembered: usize) -> Self {
        Self { known: Cache::new(remembered) }
    }

    pub(crate) async fn find<Asking>(&self, address: Address, ask: impl FnOnce() -> Asking) -> Result<Answer, Setback>
    where
        Asking: Future<Output = Result<Answer, Setback>>,
    {
        if let Some(known) = self.known.get(&address) {
            return Ok(known);
        }
        // On the heap, since it is large and seldom needed: whoever waits for many of these moves them about.
        Box::pin(self.known.get_or_insert_async(&address, ask())).await
    }
}
