//! The prefix of token types on pages, such as BEP20 or ERC20: that of the operator, else that of the chain.

use std::{sync::Arc, time::Duration};

use domain::{ChainTokenPrefix, TokenPrefix};
use store::{Store, StoreError};
use tokio_util::sync::CancellationToken;

/// Pause between reads of a store that belongs to no chain yet.
const RETRY: Duration = Duration::from_millis(200);

/// By the chain that the store belongs to, so that it is known while the node is down. A store that belongs to none has no
/// tokens: the prefix is chosen when the store is bound, by this process ([`super::following`]) or by another one.
pub(crate) async fn find(
    given: Option<TokenPrefix>,
    store: &Arc<dyn Store>,
    cancel: &CancellationToken,
) -> ChainTokenPrefix {
    if let Some(given) = given {
        return given.into();
    }
    let prefix = ChainTokenPrefix::default();
    if choose(&prefix, store.as_ref()).await.is_err() || !prefix.is_chosen() {
        let (prefix, store, cancel) = (prefix.clone(), Arc::clone(store), cancel.clone());
        tokio::spawn(async move { cancel.run_until_cancelled(wait(prefix, store)).await });
    }
    prefix
}

async fn wait(prefix: ChainTokenPrefix, store: Arc<dyn Store>) {
    while !prefix.is_chosen() {
        tokio::time::sleep(RETRY).await;
        if let Err(error) = choose(&prefix, store.as_ref()).await {
            tracing::debug!(%error, "cannot read the chain of the index");
        }
    }
}

async fn choose(prefix: &ChainTokenPrefix, store: &dyn Store) -> Result<(), StoreError> {
    if let Some(identity) = store.identity().await? {
        prefix.choose(identity.chain_id);
    }
    Ok(())
}
