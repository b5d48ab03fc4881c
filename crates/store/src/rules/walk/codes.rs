use domain::BlockNumber;

use super::Walk;
use crate::{
    StoreError,
    rules::{
        BlockSink,
        fetch_policy::{CodeEvent, KnownCode, is_code_pending},
    },
};

impl<S: BlockSink> Walk<S> {
    /// Notes an event that affects the code at an address.
    pub(super) fn note_code(&mut self, address: u64, event: CodeEvent, block: BlockNumber) -> Result<(), StoreError> {
        let known = match event {
            // Whatever was known is replaced.
            CodeEvent::Created => KnownCode::NotFetched,
            _ if self.sink.is_code_cached(address) => return Ok(()),
            _ => self.sink.known_code(address)?,
        };
        let is_pending = is_code_pending(event, known);
        if is_pending {
            self.sink.mark_code_pending(address, block);
        }
        // Not cached without code: the address may become a contract later.
        if is_pending || known == KnownCode::Contract {
            self.sink.cache_code(address);
        }
        Ok(())
    }
}
