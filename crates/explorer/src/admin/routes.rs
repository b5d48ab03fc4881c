//! Commands of the operator for a running service. They answer with the text that the command line prints.

use std::sync::Arc;

use axum::{Json, Router, extract::State, routing::post};
use serde::{Deserialize, Serialize};

use super::{context::AdminContext, failed::Failed, paths};
use crate::{
    cli::{ContractsCommand, KeysCommand, WebhooksCommand},
    operations::{
        audits::{self, BlocksCommand, TokenCommand},
        contracts, keys, webhooks,
    },
};

/// What to log from now on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogChange {
    pub(crate) filter: String,
}

pub(super) fn router(context: Arc<AdminContext>) -> Router {
    Router::new()
        .route(paths::KEYS, post(change_keys))
        .route(paths::WEBHOOKS, post(change_webhooks))
        .route(paths::CONTRACTS, post(change_contracts))
        .route(paths::TOKEN, post(compare_token))
        .route(paths::BLOCKS, post(compare_blocks))
        .route(paths::LOG, post(change_log))
        .route(paths::RELOAD, post(reload))
        .route(paths::COMPACT, post(compact))
        .with_state(context)
}

type Context = State<Arc<AdminContext>>;

async fn change_keys(State(context): Context, Json(command): Json<KeysCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    let records = context.store.user_records();
    let done = keys::execute(records.as_ref(), command).await?;
    if let (Some(keys), Some(changed)) = (&context.keys, &done.changed) {
        keys.forget(changed);
    }
    Ok(done.text)
}

async fn change_webhooks(State(context): Context, Json(command): Json<WebhooksCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    let done = webhooks::execute(context.webhooks.as_ref(), command).await?;
    if let (Some(wake), Some(changed)) = (&context.wake, done.changed) {
        wake.changed(changed);
    }
    Ok(done.text)
}

async fn change_contracts(State(context): Context, Json(command): Json<ContractsCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    Ok(contracts::execute(context.store.as_ref(), command).await?)
}

async fn compare_token(State(context): Context, Json(command): Json<TokenCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    let reader = context.store.reader();
    Ok(audits::compare_token(context.node()?, reader.as_ref(), context.requests(), command).await?)
}

async fn compare_blocks(State(context): Context, Json(command): Json<BlocksCommand>) -> Result<String, Failed> {
    tracing::info!(?command, "command of the operator");
    Ok(audits::compare_blocks(context.node()?, context.store.reader(), command).await?)
}

async fn change_log(State(context): Context, Json(change): Json<LogChange>) -> Result<String, Failed> {
    context.log.set(&change.filter)?;
    tracing::info!(filter = change.filter, "the operator changed what is logged");
    Ok(format!("logging {} from now on, until the next start\n", change.filter))
}

async fn reload(State(context): Context) -> Result<String, Failed> {
    Ok(context.names.reload()?)
}

async fn compact(State(context): Context) -> Result<String, Failed> {
    tracing::info!("the operator compacts the index");
    match context.store.compact().await? {
        Some(bytes) => Ok(format!("the index takes {:.1} MB\n", bytes as f64 / 1e6)),
        None => {
            Ok("a database is compacted in small steps by the process that indexes, or at once by `explorer database \
                    compact`\n"
                .to_owned())
        }
    }
}
