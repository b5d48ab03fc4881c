//! The pages of the explorer, rendered on the server from the same store as the API.
//!
//! `pages` mirrors the URLs: `/block/7` is `pages/block.rs` with `templates/block.html`. A handler queries the store, converts the
//! result into types of `view`, and renders the template. All pages work without scripts, except
//! the forms for keys, webhooks and calls.

mod account;
mod address_names;
mod api_limits;
mod assets;
mod base_path;
mod branding;
mod error;
mod form;
mod frame;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;

mod layers;
mod lookalikes;
mod methods;
mod names;
mod node_calls;

mod pages;
mod public_url;
mod recent_days;
mod routes;
mod server_address;
mod state;
mod tour;
mod verified_names;
mod view;

use std::sync::Arc;

pub use api_limits::ApiLimits;
use axum::Router;
pub use base_path::BasePath;
pub use branding::{
    Accent, Branding, Colour, FooterLink, FooterLinks, InvalidColour, InvalidFooterLink, Logo, LogoError, LowContrast,
};
pub use names::Names;
pub use public_url::PublicUrl;
pub use state::WebParts;
pub use tour::TourStop;

/// The patterns of all pages, assets and redirects, for metrics.
#[must_use]
pub fn list_routes() -> Vec<&'static str> {
    pages::routes().patterns
}

/// All pages, wrapped in their layers.
pub fn router(parts: WebParts) -> Router {
    let state = Arc::new(state::WebState::new(parts));
    let (budget, base_path) = (Arc::clone(&state.budget), state.base_path.clone());
    let router = pages::routes().router.fallback(pages::show_not_found);
    layers::wrap(router.with_state(state), budget, base_path)
}

#[cfg(test)]
mod tests {
    use admission::{Area, prices};

    use super::*;

    #[test]
    fn every_page_has_a_price() {
        let is_priced = |route: &str| {
            prices().iter().any(|price| matches!(price.area, Area::Pages | Area::Free) && price.route == route)
        };
        let missing: Vec<_> = list_routes().into_iter().filter(|route| !is_priced(route)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let pages = prices().iter().filter(|price| price.area == Area::Pages).map(|price| price.route);
        let unknown: Vec<_> = pages.filter(|route| !list_routes().contains(route)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
