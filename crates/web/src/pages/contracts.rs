//! Verified contracts, and the form that makes more of them.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::{MatchKind, VerifiedSummary};
use serde::Deserialize;

use super::App;
use crate::error::PageError;
use crate::frame::{Frame, Section, page};
use crate::names::Names;
use crate::view::{AddressLink, Moment, Pager, Paging, tame};

#[derive(Template)]
#[template(path = "contracts.html")]
struct Contracts {
    frame: Frame,
    contracts: Vec<ContractRow>,
    pager: Pager,
}

struct ContractRow {
    name: String,
    address: AddressLink,
    compiler: String,
    kind: &'static str,
    license: String,
    time: Moment,
}

impl ContractRow {
    fn new(summary: &VerifiedSummary, names: &Names) -> Self {
        Self {
            name: tame(&summary.name),
            address: names.address(summary.address),
            compiler: tame(&summary.compiler),
            kind: match_words(summary.runtime_match),
            license: summary.license.as_deref().map(tame).unwrap_or_default(),
            time: Moment::of(summary.verified_at / 1000),
        }
    }
}

#[derive(Template)]
#[template(path = "verify.html")]
struct Verify {
    frame: Frame,
    address: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct About {
    #[serde(default)]
    address: String,
}

pub(super) async fn show(State(app): State<App>, Query(paging): Query<Paging>) -> Result<Response, PageError> {
    let listed = app.verified.list_verified(paging.request()).await?;
    page(&Contracts {
        frame: app.frame("Verified contracts", Section::Contracts),
        contracts: listed.items.iter().map(|summary| ContractRow::new(summary, &app.names)).collect(),
        pager: paging.pager("/contracts", listed.total),
    })
}

pub(super) async fn show_form(State(app): State<App>, Query(about): Query<About>) -> Result<Response, PageError> {
    page(&Verify { frame: app.frame("Verify a contract", Section::Contracts), address: super::plain(&about.address) })
}

pub(super) fn match_words(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact => "Exact",
        MatchKind::Partial => "Partial",
    }
}
