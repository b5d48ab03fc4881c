//! The API in the formats of other explorers, so that their clients work unchanged: `etherscan` for Foundry, Hardhat, Remix
//! and scripts, `sourcify` for tools that verify with Sourcify.
//!
//! Nothing is implemented twice: every request is translated to the services of the API, and every answer back.

mod app;
mod error;
mod etherscan;
#[doc(hidden)]
#[allow(clippy::missing_panics_doc, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod settings;
mod sourcify;

use std::sync::Arc;

use api::dialect::{Dialect, Gate};
use services::Services;

/// The patterns of all routes.
#[must_use]
pub fn list_routes() -> Vec<String> {
    etherscan::PATHS.map(str::to_owned).into_iter().chain(sourcify::list_routes()).collect()
}

/// All dialects.
#[must_use]
pub fn dialects(services: Services, gate: Gate) -> Vec<Dialect> {
    let app = Arc::new(app::App::new(services, gate));
    vec![etherscan::dialect(Arc::clone(&app)), sourcify::dialect(app)]
}

#[cfg(test)]
mod tests {
    use admission::{Area, prices};

    use super::*;

    #[test]
    fn every_route_of_sourcify_has_a_price() {
        let is_priced = |route: &str| {
            prices().iter().any(|price| matches!(price.area, Area::Sourcify | Area::Free) && price.route == route)
        };
        let missing: Vec<_> = sourcify::list_routes().filter(|route| !is_priced(route)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
