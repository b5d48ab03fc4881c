use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};

use crate::{
    assets::{Asset, DOCS_SCRIPT, DOCS_STYLE, FORMS, ICON, SCRIPT, STYLE, THEME},
    branding::Logo,
    state::App,
};

const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const ONE_DAY: &str = "public, max-age=86400";

pub(super) async fn show_asset(State(app): State<App>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let own: [&Asset; 6] = [&STYLE, &SCRIPT, &THEME, &FORMS, &DOCS_STYLE, &DOCS_SCRIPT];
    let mut assets = own.into_iter().chain(app.branding.assets());
    match assets.find(|asset| asset.path.strip_prefix("/assets/") == Some(name.as_str())) {
        Some(asset) => asset.response_to(&headers, IMMUTABLE),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Browsers show it whatever its name: the response has its type.
pub(super) async fn show_icon(State(app): State<App>, headers: HeaderMap) -> Response {
    app.branding.logo().map_or(&*ICON, Logo::asset).response_to(&headers, ONE_DAY)
}
