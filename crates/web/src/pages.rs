//! The pages, one file each.

mod accounts;
mod address;
mod assets;
mod block;
mod blocks;
mod call_tree;
mod calls;
mod charts;
mod contracts;
mod developers;
pub(crate) mod fuzzing;
mod gas;
mod holder_shares;
mod home;
mod job;
mod nft;
mod not_found;
mod pending;
mod redirects;
mod search;
mod sitemap;
mod state_changes;
mod token;
mod tokens;
mod trace;
mod trades;
mod transaction;
mod transactions;
mod transfers;
mod verify;

use axum::{
    extract::DefaultBodyLimit,
    routing::{get, post},
};

use crate::routes::Routes;

pub(crate) use not_found::show_not_found;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .route("/", get(home::show))
        .route("/blocks", get(blocks::show))
        .route("/block/{id}", get(block::show))
        .route("/block/{id}/header", get(block::show_header))
        .route("/transactions", get(transactions::show))
        .route("/tx/{hash}", get(transaction::show))
        .route("/tx/{hash}/input", get(transaction::show_input))
        .route("/tx/{hash}/calls", get(call_tree::show))
        .route("/tx/{hash}/state", get(state_changes::show))
        .route("/transfers", get(transfers::show))
        .route("/address/{address}", get(address::show))
        .route("/accounts", get(accounts::show))
        .route("/tokens", get(tokens::show))
        .route("/token/{address}", get(token::show))
        .route("/token/{address}/{id}", get(nft::show))
        .route("/token/{address}/{id}/image", get(nft::metadata::show_image))
        .route("/trades", get(trades::show))
        .route("/charts", get(charts::show))
        .route("/gas", get(gas::show))
        .route("/contracts", get(contracts::show))
        .route("/address/{address}/call", post(calls::call).layer(DefaultBodyLimit::max(calls::MAX_BYTES)))
        .route("/address/{address}/encode", post(calls::encode).layer(DefaultBodyLimit::max(calls::MAX_BYTES)))
        .route("/verify", get(verify::show_form).post(verify::submit).layer(DefaultBodyLimit::max(verify::MAX_BYTES)))
        .route("/verify/compilers", get(verify::list_compilers))
        .route("/docs", get(developers::show_docs))
        .route("/keys", get(developers::show_keys))
        .route("/webhooks", get(developers::show_webhooks))
        .route("/search", get(search::show))
        .route("/search/suggest", get(search::suggest))
        .route("/verify-ui/jobs/{id}", get(job::show))
        .route("/robots.txt", get(sitemap::show_robots))
        .route("/sitemap.xml", get(sitemap::show_index))
        .route("/sitemap/{name}", get(sitemap::show_file))
        .route("/assets/{name}", get(assets::show_asset))
        .route("/favicon.ico", get(assets::show_icon))
        .route("/favicon.svg", get(assets::show_icon))
        // URLs of other explorers, and of the API without its prefix.
        .route("/repo-ui/{chain}/{address}", get(redirects::to_contract))
        .route("/txs", get(redirects::to_transactions))
        .route("/blocks/{id}", get(redirects::to_block))
        .route("/transactions/{hash}", get(redirects::to_transaction))
        .route("/addresses/{address}", get(redirects::to_address))
        .route("/tokens/{address}", get(redirects::to_token))
}
