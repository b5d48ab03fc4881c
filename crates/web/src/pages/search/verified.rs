//! The names of verified contracts, as fresh as pages need them.

use std::time::Duration;

use store::StoreError;

use crate::{state::WebState, verified_names::NameList};

/// New verifications are found after this time, so that nobody can have the names read for each of their requests.
const CACHED_FOR: Duration = Duration::from_secs(10);

impl WebState {
    pub(in crate::pages) async fn list_verified_names(&self) -> Result<NameList, StoreError> {
        let chain = self.sync.borrow().chain;
        self.verified_names.list(chain, |read_at| self.is_fresh(read_at, CACHED_FOR)).await
    }
}
