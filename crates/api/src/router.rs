use std::sync::Arc;

use axum::{Extension, Router};

use crate::{ApiState, dialect::Dialect, document, layers, routes};

/// The patterns of all routes of the API, without its dialects.
#[must_use]
pub fn list_routes() -> Vec<String> {
    let (_, document) = routes::router().split_for_parts();
    document.paths.paths.into_keys().collect()
}

/// All routes of the API and of its dialects, wrapped in its layers.
pub fn router(state: ApiState, dialects: Vec<Dialect>) -> Router {
    let (routes, mut document) = routes::router().split_for_parts();
    let resources = routes::index_resources();
    document::complete(&mut document, state.access, &resources);
    document::state_limits(&mut document, state.anonymous_requests);
    let document = routes::OpenApiDocument::new(document::write(&document));
    let admission = Arc::clone(&state.admission);
    let origins = state.origins.clone();
    let (cache, indexed_block) = (state.response_cache(), state.indexed_block(resources));
    let mut router = routes.layer(Extension(document)).with_state(Arc::new(state));
    let mut rules = Vec::new();
    for dialect in dialects {
        router = router.merge(dialect.routes);
        rules.push(dialect.rules);
    }
    layers::wrap(router, admission, cache, rules, indexed_block, origins)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use admission::{Area, prices};

    use super::*;

    #[test]
    fn every_route_has_a_price() {
        let priced: BTreeSet<&str> = prices()
            .iter()
            .filter(|price| matches!(price.area, Area::Api | Area::Free))
            .map(|price| price.route)
            .collect();
        let routes = list_routes();
        let missing: Vec<_> = routes.iter().filter(|route| !priced.contains(route.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let unknown = prices().iter().filter(|price| price.area == Area::Api).map(|price| price.route);
        let unknown: Vec<_> = unknown.filter(|price| !routes.iter().any(|route| route == price)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
