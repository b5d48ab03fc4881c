//! The layout around every page.

use std::{sync::Arc, time::Instant};

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use domain::{BlockNumber, StatusLine};

use crate::{
    assets::{Asset, FORMS, SCRIPT, STYLE, THEME},
    base_path::BasePath,
    branding::Branding,
    error::PageError,
    state::WebState,
    view::{Moment, PageNames, Pager, grouped, sanitize_text},
};

/// Search engines show about this many characters of a description.
const MAX_DESCRIPTION: usize = 200;

/// Title, navigation and health of the index.
pub(crate) struct Frame {
    pub(crate) title: String,
    /// What is on the page, in a sentence.
    pub(crate) description: String,
    pub(crate) chain: String,
    pub(crate) section: Section,
    /// Whether new blocks can change the page, so that it follows them.
    pub(crate) is_live: bool,
    /// The first indexed block, if the index does not begin with the chain.
    pub(crate) indexed_since: Option<String>,
    pub(crate) health: Health,
    /// Whether top accounts are listed.
    pub(crate) has_accounts: bool,
    pub(crate) search: String,
    /// The canonical path and query; None for a page that search engines leave out.
    path: Option<String>,
    /// Whether the page has an address of its own, but search engines leave it out.
    is_unlisted: bool,
    site_url: Option<Arc<str>>,
    pub(crate) branding: Branding,
    /// For scripts, which make links too.
    pub(crate) base_path: BasePath,
    pub(crate) style: &'static Asset,
    pub(crate) script: &'static Asset,
    pub(crate) theme: &'static Asset,
    pub(crate) forms: &'static Asset,
}

/// The entry of the navigation that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Home,
    Blocks,
    Transactions,
    Tokens,
    Accounts,
    Trades,
    Charts,
    Gas,
    Contracts,
    Keys,
    Webhooks,
    Docs,
    None,
}

impl Section {
    pub(crate) fn is(self, other: &str) -> bool {
        format!("{self:?}") == other
    }
}

/// The health in the footer.
pub(crate) struct Health {
    pub(crate) line: StatusLine,
    /// The newest indexed block and its time.
    pub(crate) tip: Option<(String, Moment)>,
    /// The indexed chain; empty if it is not known. A script loads the page again when there is another one.
    pub(crate) chain: String,
}

impl Frame {
    /// The path of the page, always the same for the same content.
    pub(crate) fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// A page of a list. Only the first is listed by search engines: the others change with every block.
    pub(crate) fn at_page(self, pager: &Pager) -> Self {
        self.at(pager.address()).unlisted_if(!pager.is_first())
    }

    /// Search engines leave the page out, such as a filtered list.
    pub(crate) fn unlisted_if(self, is_unlisted: bool) -> Self {
        Self { is_unlisted: self.is_unlisted || is_unlisted, ..self }
    }

    /// Describes what is on the page. The text may contain names that anyone can choose.
    pub(crate) fn described(self, text: impl AsRef<str>) -> Self {
        Self { description: sanitize_text(text.as_ref(), MAX_DESCRIPTION).replace('\n', " "), ..self }
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.path.is_some() && !self.is_unlisted
    }

    /// The complete URL, if the operator has configured where users find the pages.
    pub(crate) fn canonical(&self) -> Option<String> {
        self.path.as_deref().and_then(|path| self.absolute(path))
    }

    /// The image in previews of links.
    pub(crate) fn preview(&self) -> Option<String> {
        let logo = self.branding.logo().filter(|logo| logo.is_raster())?;
        self.absolute(&logo.asset().path)
    }

    fn absolute(&self, path: &str) -> Option<String> {
        self.site_url.as_ref().map(|site| format!("{site}{path}"))
    }

    /// Follows new blocks if they can change the page.
    pub(crate) fn live_if(self, is_live: bool) -> Self {
        Self { is_live, ..self }
    }
}

impl WebState {
    pub(crate) fn page_names(&self) -> PageNames {
        PageNames::new(self.names.clone())
    }

    /// Renders a page after its addresses were looked up.
    pub(crate) async fn page(&self, names: &PageNames, template: &impl Template) -> Result<Response, PageError> {
        names.set_known(self.address_names.find(names.take_noted()).await?);
        page(template)
    }

    /// Whether no reorg can remove this block any more.
    pub(crate) fn is_final(&self, block: BlockNumber) -> bool {
        self.sync.borrow().settled.is_some_and(|settled| block <= settled)
    }

    pub(crate) async fn frame(&self, title: impl Into<String>, section: Section) -> Frame {
        // A page whose banner cannot be read says so where its content is read.
        let coverage = self.chain.coverage().await.unwrap_or_default();
        let title = title.into();
        Frame {
            description: format!("{title} on {}.", self.names.chain),
            title,
            chain: self.names.chain.clone(),
            section,
            is_live: false,
            indexed_since: coverage.first_block.filter(|_| !coverage.is_complete()).map(grouped),
            health: self.health(),
            has_accounts: self.top_accounts.is_some(),
            search: String::new(),
            path: None,
            is_unlisted: false,
            site_url: self.site_url.clone(),
            branding: self.branding.clone(),
            base_path: self.base_path.clone(),
            style: &STYLE,
            script: &SCRIPT,
            theme: &THEME,
            forms: &FORMS,
        }
    }

    fn health(&self) -> Health {
        let status = self.sync.borrow();
        Health {
            line: status.line(Instant::now()),
            tip: status.tip.zip(status.tip_timestamp).map(|(tip, time)| (grouped(tip.number), Moment::of(time))),
            chain: status.chain.map(|chain| format!("{}-{}", chain.chain_id, chain.genesis_hash)).unwrap_or_default(),
        }
    }
}

/// Renders a page.
pub(crate) fn page(template: &impl Template) -> Result<Response, PageError> {
    Ok(Html(template.render()?).into_response())
}
