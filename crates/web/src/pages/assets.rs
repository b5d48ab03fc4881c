use axum::{
    extract::{Path, State},
    http::{
        StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};

use crate::{
    assets::{Asset, DOCS_SCRIPT, DOCS_STYLE, FORMS, ICON, SCRIPT, STYLE, THEME},
    branding::Logo,
    state::App,
};

const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const ONE_DAY: &str = "public, max-age=86400";

pub(super) async fn show_asset(State(app): State<App>, Path(name): Path<String>) -> Response {
    let own: [&Asset; 6] = [&STYLE, &SCRIPT, &THEME, &FORMS, &DOCS_STYLE, &DOCS_SCRIPT];
    let mut assets = own.into_iter().chain(app.branding.assets());
    match assets.find(|asset| asset.path.strip_prefix("/assets/") == Some(name.as_str())) {
        Some(asset) => asset.response(IMMUTABLE),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Browsers show it whatever its name: the response has its type.
pub(super) async fn show_icon(State(app): State<App>) -> Response {
    match app.branding.logo().map(Logo::asset) {
        Some(logo) => logo.response(ONE_DAY),
        None => ([(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, ONE_DAY)], ICON).into_response(),
    }
}
