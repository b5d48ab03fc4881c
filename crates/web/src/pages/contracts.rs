//! The list of verified contracts.

use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::{Address, Language, MatchKind, VerifiedSummary};

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{AddressLink, Moment, PageNames, Pager, Paging, counted, sanitize_name},
};

#[derive(Template)]
#[template(path = "contracts.html")]
struct Contracts {
    frame: Frame,
    contracts: Vec<ContractRow>,
    pager: Pager,
}

struct ContractRow {
    key: Address,
    name: String,
    address: AddressLink,
    compiler: String,
    kind: &'static str,
    license: String,
    time: Moment,
}

impl ContractRow {
    fn new(summary: &VerifiedSummary, names: &PageNames) -> Self {
        Self {
            key: summary.address,
            name: sanitize_name(&summary.name),
            address: names.address(summary.address),
            compiler: compiler_name(&summary.compiler),
            kind: match_name(summary.runtime_match),
            license: summary.license.as_deref().map(sanitize_name).unwrap_or_default(),
            time: Moment::of(summary.verified_at / 1000),
        }
    }
}

pub(super) async fn show(State(app): State<App>, Query(paging): Query<Paging>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let listed = app.verified.list_verified(paging.request()).await?;
    let pager = paging.pager("/contracts", listed.total);
    let description = format!(
        "Verified contracts on {}: {} whose source was compiled and compared with the code, with compiler and license.",
        names.chain,
        counted(listed.total, "contract")
    );
    app.page(
        names,
        &Contracts {
            frame: app
                .frame("Verified contracts", Section::Contracts)
                .await
                .described(description)
                .at_page(&pager)
                .live_if(paging.is_first()),
            contracts: listed.items.iter().map(|summary| ContractRow::new(summary, names)).collect(),
            pager,
        },
    )
    .await
}

/// The language and the version of a compiler.
pub(super) fn compiler_name(compiler: &str) -> String {
    let (language, version) = Language::of_compiler(compiler);
    format!("{} {}", language.name(), sanitize_name(version))
}

pub(super) fn match_name(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact => "Exact",
        MatchKind::Partial => "Partial",
    }
}
