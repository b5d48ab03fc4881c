//! The pages of the explorer, rendered on the server from the same store as the API.
//!
//! `pages` mirrors the address line: `/block/7` is `pages/block.rs` with `templates/block.html`. A handler asks the store,
//! makes the rows of its page from `view`, and renders. Every page reads without a script; scripts only add.

mod assets;
mod budget;
mod details;
mod diamonds;
mod error;
mod frame;
mod interfaces;
mod layers;
mod method;
mod names;
mod pages;
mod state;
mod view;

use std::sync::Arc;

use axum::Router;

pub use names::Names;
pub use state::WebParts;

/// Every page, ready to serve.
pub fn router(parts: WebParts) -> Router {
    let state = Arc::new(state::WebState::new(parts));
    let budget = Arc::clone(&state.budget);
    let router = pages::router().merge(assets::router()).fallback(pages::no_such_page);
    layers::wrap(router.with_state(state), budget)
}
