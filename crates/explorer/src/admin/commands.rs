//! Commands of the operator for a running service. They answer with the text that the command line prints.

use std::sync::Arc;

use anyhow::Context as _;
use api::KeyUses;
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use ingest::OperatorRequests;
use node::NodeClient;
use serde::{Deserialize, Serialize};
use store::{Store, WebhookRecords};
use webhooks::Wake;

use crate::{
    audits::{self, BlocksCommand, TokenCommand},
    cli::{ContractsCommand, KeysCommand, WebhooksCommand},
    contract_commands, keys,
    logging::LogFilter,
    names::NameReloader,
    stores::SharedStore,
    webhook_commands,
};

pub(crate) const KEYS: &str = "/keys";
pub(crate) const WEBHOOKS: &str = "/webhooks";
pub(crate) const CONTRACTS: &str = "/contracts";
pub(crate) const TOKEN: &str = "/token";
pub(crate) const BLOCKS: &str = "/blocks";
pub(crate) const LOG: &str = "/log";
pub(crate) const RELOAD: &str = "/reload";
pub(crate) const COMPACT: &str = "/compact";

/// What the commands change.
pub(crate) struct Operated {
    pub(crate) store: Arc<dyn Store>,
    /// None if this process neither indexes nor serves.
    pub(crate) node: Option<NodeClient>,
    /// None if this process does not index.
    pub(crate) requests: Option<Arc<OperatorRequests>>,
    /// Set if other processes may have the store open, too.
    pub(crate) shared: Option<Arc<SharedStore>>,
    pub(crate) webhooks: Arc<dyn WebhookRecords>,
    /// None if this process sends no webhooks: the ones that do notice changes by themselves.
    pub(crate) wake: Option<Wake>,
    /// None if this process does not serve.
    pub(crate) keys: Option<KeyUses>,
    pub(crate) names: NameReloader,
    pub(crate) log: LogFilter,
}

impl Operated {
    fn node(&self) -> anyhow::Result<&NodeClient> {
        self.node.as_ref().context("this process has no node: send the command to one that indexes or serves")
    }

    /// None if this process does not write the index.
    fn requests(&self) -> Option<&OperatorRequests> {
        let stands_by = self.shared.as_ref().is_some_and(|shared| !shared.is_writer());
        self.requests.as_deref().filter(|_| !stands_by)
    }
}

/// What to log from now on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogChange {
    pub(crate) filter: String,
}

pub(super) fn router(operated: Arc<Operated>) -> Router {
    Router::new()
        .route(KEYS, post(change_keys))
        .route(WEBHOOKS, post(change_webhooks))
        .route(CONTRACTS, post(change_contracts))
        .route(TOKEN, post(compare_token))
        .route(BLOCKS, post(compare_blocks))
        .route(LOG, post(change_log))
        .route(RELOAD, post(reload))
        .route(COMPACT, post(compact))
        .with_state(operated)
}

type Context = State<Arc<Operated>>;

/// A failed command, with all causes.
pub(super) struct Failed(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (StatusCode::BAD_REQUEST, format!("{:#}\n", self.0)).into_response()
    }
}

async fn change_keys(State(operated): Context, Json(command): Json<KeysCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    let records = operated.store.user_records();
    let done = keys::execute(records.as_ref(), command).await?;
    if let (Some(keys), Some(changed)) = (&operated.keys, &done.changed) {
        keys.forget(changed);
    }
    Ok(done.text)
}

async fn change_webhooks(State(operated): Context, Json(command): Json<WebhooksCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    let done = webhook_commands::execute(operated.webhooks.as_ref(), command).await?;
    if let (Some(wake), Some(changed)) = (&operated.wake, done.changed) {
        wake.changed(changed);
    }
    Ok(done.text)
}

async fn change_contracts(State(operated): Context, Json(command): Json<ContractsCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    Ok(contract_commands::execute(operated.store.as_ref(), command).await?)
}

async fn compare_token(State(operated): Context, Json(command): Json<TokenCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    let reader = operated.store.reader();
    Ok(audits::compare_token(operated.node()?, reader.as_ref(), operated.requests(), command).await?)
}

async fn compare_blocks(State(operated): Context, Json(command): Json<BlocksCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    Ok(audits::compare_blocks(operated.node()?, operated.store.reader(), command).await?)
}

async fn change_log(State(operated): Context, Json(change): Json<LogChange>) -> Result<String, Failed> {
    operated.log.set(&change.filter)?;
    tracing::info!(filter = change.filter, "the operator changed what is logged");
    Ok(format!("logging {} from now on, until the next start\n", change.filter))
}

async fn reload(State(operated): Context) -> Result<String, Failed> {
    Ok(operated.names.reload()?)
}

async fn compact(State(operated): Context) -> Result<String, Failed> {
    tracing::info!("the operator compacts the index");
    match operated.store.compact().await? {
        Some(bytes) => Ok(format!("the index takes {:.1} MB\n", bytes as f64 / 1e6)),
        None => {
            Ok("a database is compacted in small steps by the process that indexes, or at once by `explorer database \
                    compact`\n"
                .to_owned())
        }
    }
}
