//! Opens a store that nothing else uses.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::bail;
use store::{Store, StoreError};

use crate::{
    config::location::Location,
    stores::{Create, OlderIndex, OpenStore, Opening, Purpose},
};

/// How long a process that has just ended may still be seen by a database.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const DISCONNECT_POLL: Duration = Duration::from_millis(200);

/// Checks that nothing else uses the store: what it changes meanwhile would be lost.
pub(super) async fn open_exclusively(
    location: &Location,
    create: Create,
    older_index: OlderIndex,
) -> anyhow::Result<Arc<dyn Store>> {
    let in_use = || format!("an explorer has {location} open: stop it, then run the same command again");
    let opening = Opening { location, create, older_index, purpose: Purpose::CopyRecords };
    let OpenStore { store, shared } = match opening.open().await {
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::InUse)) => return Err(error.context(in_use())),
        opened => opened?,
    };
    if let Some(shared) = shared {
        let begun = Instant::now();
        while shared.is_used_elsewhere().await? {
            if begun.elapsed() > DISCONNECT_TIMEOUT {
                bail!(in_use());
            }
            tokio::time::sleep(DISCONNECT_POLL).await;
        }
    }
    Ok(store)
}
