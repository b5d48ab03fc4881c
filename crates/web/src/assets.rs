//! Style sheet, scripts and icon. They are part of the binary, and their names contain a hash of the content, so that browsers
//! can cache them forever.

use std::sync::LazyLock;

use axum::{
    Router,
    extract::Path,
    http::{
        StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
    routing::get,
};
use xxhash_rust::xxh3::xxh3_64;

const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const ONE_DAY: &str = "public, max-age=86400";
const ICON: &str = include_str!("../assets/icon.svg");

pub(crate) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("style", "css", "text/css; charset=utf-8", include_str!("../assets/style.css")));
pub(crate) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::script("explorer", include_str!("../assets/explorer.js")));
pub(crate) static FORMS: LazyLock<Asset> = LazyLock::new(|| {
    Asset::script("forms", concat!(include_str!("../assets/wallet.js"), include_str!("../assets/forms.js")))
});
/// Runs before the page is drawn, so that the default colour scheme does not flash.
pub(crate) static THEME: LazyLock<Asset> = LazyLock::new(|| Asset::script("theme", include_str!("../assets/theme.js")));

#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) path: String,
    kind: &'static str,
    content: &'static str,
}

impl Asset {
    fn new(name: &str, extension: &str, kind: &'static str, content: &'static str) -> Self {
        Self { path: format!("/assets/{name}-{:016x}.{extension}", xxh3_64(content.as_bytes())), kind, content }
    }

    fn script(name: &str, content: &'static str) -> Self {
        Self::new(name, "js", "text/javascript; charset=utf-8", content)
    }
}

pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/assets/{name}", get(get_asset))
        .route("/favicon.ico", get(get_icon))
        .route("/favicon.svg", get(get_icon))
}

async fn get_asset(Path(name): Path<String>) -> Response {
    let asset = [&STYLE, &SCRIPT, &THEME, &FORMS]
        .into_iter()
        .find(|asset| asset.path.strip_prefix("/assets/") == Some(name.as_str()));
    match asset {
        Some(asset) => ([(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, IMMUTABLE)], asset.content).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn get_icon() -> Response {
    ([(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, ONE_DAY)], ICON).into_response()
}
