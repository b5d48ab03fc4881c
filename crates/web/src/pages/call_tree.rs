//! The calls of a transaction as a tree, from the trace of the node.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use contracts::{KnownInterface, standards};
use node::TracedFrame;

use super::trace::{Traced, parse_traceable_hash};
use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::{App, WebState},
    view::{AddressLink, Amount, PageNames, TransactionLink, counted, grouped, sanitize_name, short},
};

/// Deeper calls are indented like these.
const MAX_INDENT: u32 = 12;
/// Contracts whose interfaces are looked up.
const MAX_CONTRACTS: usize = 20;

#[derive(Template)]
#[template(path = "call_tree.html")]
struct CallTreePage {
    frame: Frame,
    transaction: TransactionLink,
    hash: String,
    calls: Vec<CallRow>,
    left_out: usize,
    /// Why there are no calls; empty if there are.
    missing: &'static str,
}

struct CallRow {
    indent: u32,
    depth: u32,
    kind: String,
    to: Option<AddressLink>,
    method: Option<String>,
    value: Option<Amount>,
    gas_used: String,
    error: Option<String>,
}

pub(super) async fn show(State(app): State<App>, Path(hash): Path<String>) -> Result<Response, PageError> {
    let hash = match parse_traceable_hash(&app, &hash).await? {
        Ok(hash) => hash,
        Err(not_found) => return Ok(not_found),
    };
    let names = &app.page_names();
    let Traced { trace: tree, missing } = Traced::new(app.node_calls.run_long(app.node.find_call_tree(hash)).await);
    let calls = call_rows(&app, &tree.frames, names).await?;
    let full = format!("{hash:#x}");
    let title = format!("Calls of transaction {}", short(&full));
    let description =
        format!("{title} on {}: {} as a tree, from a trace.", names.chain, counted(calls.len() as u64, "call"));
    let page = CallTreePage {
        frame: app
            .frame(title, Section::Transactions)
            .await
            .described(description)
            .at(format!("/tx/{full}/calls"))
            .unlisted_if(!missing.is_empty()),
        transaction: TransactionLink::new(hash),
        hash: full,
        calls,
        left_out: tree.left_out,
        missing,
    };
    app.page(names, &page).await
}

async fn call_rows(app: &WebState, frames: &[TracedFrame], names: &PageNames) -> Result<Vec<CallRow>, PageError> {
    let mut interfaces: Vec<(domain::Address, Vec<KnownInterface>)> = Vec::new();
    for to in frames.iter().filter_map(|frame| frame.to.filter(|_| frame.selector.is_some())) {
        if interfaces.len() < MAX_CONTRACTS && interfaces.iter().all(|(known, _)| *known != to) {
            interfaces.push((to, app.interfaces.of(to, &app.node_calls).await?));
        }
    }
    let method = |frame: &TracedFrame| {
        let selector = frame.selector.filter(|_| !frame.kind.starts_with("CREATE"))?;
        let known = interfaces.iter().find(|(address, _)| Some(*address) == frame.to);
        let own = known.and_then(|(_, known)| known.iter().find_map(|one| one.function_name(selector)));
        let name = own.or_else(|| standards().function_name(selector)).map(sanitize_name);
        Some(name.unwrap_or_else(|| format!("{:#x}", alloy_primitives::FixedBytes(selector))))
    };
    Ok(frames
        .iter()
        .map(|frame| CallRow {
            indent: frame.depth.min(MAX_INDENT),
            depth: frame.depth,
            kind: sanitize_name(&frame.kind.to_lowercase()),
            to: frame.to.map(|to| names.address(to)),
            method: method(frame),
            value: (!frame.value.is_zero()).then(|| names.coin(frame.value)),
            gas_used: grouped(frame.gas_used),
            error: frame.error.as_deref().map(sanitize_name),
        })
        .collect())
}
