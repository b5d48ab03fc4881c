//! What search engines read: the rules for robots, and the sitemap.
//!
//! The sitemap is an index of files. Blocks are listed by ranges of numbers, so that no file depends on the length of the chain,
//! and bodies are made while they are sent.

use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use domain::{BlockNumber, Order, PageRequest};
use futures::stream;

use crate::{
    error::PageError,
    state::{App, WebState},
};

/// Blocks of one file, a fifth of the limit of the protocol.
const BLOCKS_PER_FILE: u64 = 10_000;
/// Tokens or contracts of one file, which are read from the index.
const ROWS_PER_FILE: u32 = 1_000;
/// The limit of the protocol.
const MAX_FILES: usize = 50_000;
/// Entries that are written at once.
const ENTRIES_PER_PIECE: usize = 500;
const ONE_HOUR: &str = "public, max-age=3600";

/// Search results and forms are not worth indexing, and the API is not for people.
const DISALLOWED: [&str; 5] = ["/api", "/v2/api", "/sourcify", "/search", "/verify"];

/// Pages about the whole chain.
const PAGES: [&str; 9] =
    ["/", "/blocks", "/transactions", "/transfers", "/tokens", "/trades", "/charts", "/gas", "/contracts"];

/// A file of the sitemap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    Pages,
    Blocks(u64),
    Tokens(u64),
    Contracts(u64),
}

impl File {
    pub(super) fn name(self) -> String {
        match self {
            Self::Pages => "pages.xml".to_owned(),
            Self::Blocks(number) => format!("blocks-{number}.xml"),
            Self::Tokens(number) => format!("tokens-{number}.xml"),
            Self::Contracts(number) => format!("contracts-{number}.xml"),
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".xml")?;
        let file = match stem.split_once('-') {
            None if stem == "pages" => Self::Pages,
            Some(("blocks", number)) => Self::Blocks(number.parse().ok()?),
            Some(("tokens", number)) => Self::Tokens(number.parse().ok()?),
            Some(("contracts", number)) => Self::Contracts(number.parse().ok()?),
            _ => return None,
        };
        // One name for each file.
        (file.name() == name).then_some(file)
    }
}

/// The numbers of the blocks in a file; None if it has none.
fn blocks_of(file: u64, first: BlockNumber, tip: BlockNumber) -> Option<std::ops::RangeInclusive<BlockNumber>> {
    let start = file.checked_mul(BLOCKS_PER_FILE)?;
    let range = start.max(first)..=start.saturating_add(BLOCKS_PER_FILE - 1).min(tip);
    (!range.is_empty()).then_some(range)
}

fn page_of(file: u64) -> Option<PageRequest> {
    let offset = file.checked_mul(u64::from(ROWS_PER_FILE))?;
    Some(PageRequest { offset, limit: ROWS_PER_FILE, order: Order::NewestFirst })
}

/// The numbers of the files for so many tokens or contracts.
fn files_of(rows: u64) -> std::ops::Range<u64> {
    0..rows.div_ceil(u64::from(ROWS_PER_FILE))
}

pub(super) async fn show_robots(State(app): State<App>) -> Response {
    let base = app.base_path.as_str();
    let rules: String = DISALLOWED.iter().map(|path| format!("Disallow: {base}{path}\n")).collect();
    let sitemap = app.site_url.as_ref().map(|site| format!("\nSitemap: {site}/sitemap.xml\n")).unwrap_or_default();
    format!("User-agent: *\n{rules}{sitemap}").into_response()
}

pub(super) async fn show_index(State(app): State<App>) -> Result<Response, PageError> {
    let Some(site) = app.site_url.clone() else { return no_sitemap(&app).await };
    let mut files = vec![File::Pages];
    let contracts = app.verified.list_verified(PageRequest::newest(1)).await?.total;
    files.extend(files_of(contracts).map(File::Contracts));
    files.extend(files_of(app.chain.stats().await?.total_tokens).map(File::Tokens));
    if let Some((first, tip)) = indexed_blocks(&app).await? {
        files.extend((first / BLOCKS_PER_FILE..=tip / BLOCKS_PER_FILE).rev().map(File::Blocks));
    }
    // The oldest blocks are left out.
    files.truncate(MAX_FILES);
    let urls = files.into_iter().map(move |file| format!("{site}/sitemap/{}", file.name()));
    Ok(xml("sitemapindex", "sitemap", urls))
}

pub(super) async fn show_file(State(app): State<App>, Path(name): Path<String>) -> Result<Response, PageError> {
    let (Some(site), Some(file)) = (app.site_url.clone(), File::parse(&name)) else { return no_sitemap(&app).await };
    match file {
        File::Pages => Ok(urls(PAGES.into_iter().map(move |path| format!("{site}{path}")))),
        File::Blocks(number) => {
            let indexed = indexed_blocks(&app).await?;
            let Some(blocks) = indexed.and_then(|(first, tip)| blocks_of(number, first, tip)) else {
                return no_sitemap(&app).await;
            };
            Ok(urls(blocks.map(move |block| format!("{site}/block/{block}"))))
        }
        File::Tokens(number) => {
            let Some(page) = page_of(number) else { return no_sitemap(&app).await };
            let tokens = app.chain.list_tokens(page).await?.items.into_iter();
            Ok(urls(tokens.map(move |token| format!("{site}/token/{}", token.address.to_checksum(None)))))
        }
        File::Contracts(number) => {
            // From the oldest on: the files that are complete stay as they are.
            let page = page_of(number).map(|page| PageRequest { order: Order::OldestFirst, ..page });
            let Some(page) = page else { return no_sitemap(&app).await };
            let contracts = app.verified.list_verified(page).await?.items.into_iter();
            Ok(urls(
                contracts.map(move |found| format!("{site}/address/{}?tab=contract", found.address.to_checksum(None))),
            ))
        }
    }
}

async fn no_sitemap(app: &WebState) -> Result<Response, PageError> {
    app.not_found("No such page", "This file is not part of the sitemap of this explorer.").await
}

/// The first and the last indexed block.
async fn indexed_blocks(app: &WebState) -> Result<Option<(BlockNumber, BlockNumber)>, PageError> {
    let first = app.chain.coverage().await?.first_block;
    Ok(first.zip(app.chain.find_tip().await?.map(|tip| tip.number)))
}

fn urls(urls: impl Iterator<Item = String> + Send + 'static) -> Response {
    xml("urlset", "url", urls)
}

/// A document that is made piece by piece while it is sent. URLs have only characters that need no escape.
fn xml(root: &'static str, element: &'static str, urls: impl Iterator<Item = String> + Send + 'static) -> Response {
    let head = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    let mut entries = urls.map(move |url| format!("<{element}><loc>{url}</loc></{element}>\n"));
    let pieces = std::iter::from_fn(move || {
        let piece: String = entries.by_ref().take(ENTRIES_PER_PIECE).collect();
        (!piece.is_empty()).then_some(piece)
    });
    let pieces = std::iter::once(head).chain(pieces).chain(std::iter::once(format!("</{root}>\n")));
    let body = Body::from_stream(stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Bytes::from(piece)))));
    ([(CONTENT_TYPE, "application/xml; charset=utf-8"), (CACHE_CONTROL, ONE_HOUR)], body).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    #[test]
    fn a_file_has_one_name() {
        for file in [File::Pages, File::Blocks(0), File::Tokens(7), File::Contracts(u64::MAX)] {
            assert_eq!(File::parse(&file.name()), Some(file));
        }
        for other in ["", "pages", "blocks.xml", "blocks-01.xml", "blocks-+1.xml", "blocks--1.xml", "nfts-1.xml"] {
            assert_eq!(File::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_files_cover_the_indexed_blocks_without_a_gap() {
        for (first, tip) in [(0, 0), (0, 9_999), (0, 10_000), (9_999, 10_000), (24_003, 62_000)] {
            let files = first / BLOCKS_PER_FILE..=tip / BLOCKS_PER_FILE;
            let ranges: Vec<_> = files.map(|file| blocks_of(file, first, tip).unwrap()).collect();
            assert_eq!((*ranges[0].start(), *ranges[ranges.len() - 1].end()), (first, tip));
            assert!(ranges.windows(2).all(|pair| pair[0].end() + 1 == *pair[1].start()));
            assert!(ranges.iter().all(|range| range.end() - range.start() < BLOCKS_PER_FILE));
        }
        assert_eq!(blocks_of(2, 24_003, 62_000), Some(24_003..=29_999));
        assert_eq!(
            [blocks_of(1, 24_003, 62_000), blocks_of(7, 0, 62_000), blocks_of(u64::MAX, 0, 9)],
            [None, None, None]
        );
        assert_eq!((files_of(0), files_of(1_000), files_of(1_001)), (0..0, 0..1, 0..2));
    }

    #[tokio::test]
    async fn a_document_of_many_pieces_is_complete() {
        let response = urls((0..1_201).map(|number| format!("https://a.example/block/{number}")));
        let text = String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap();
        assert_eq!(text.matches("<url><loc>").count(), 1_201);
        assert!(text.starts_with("<?xml") && text.ends_with("/block/1200</loc></url>\n</urlset>\n"), "{text}");
    }
}
