//! What search engines and previews of links read: canonical URLs, descriptions, robots and the sitemap.

use std::collections::BTreeSet;

use crate::{
    contracts::verifier_fixture::{COIN, Case, VerifierFixture},
    support::{DevNode, Launch, TestExplorer, eventually, fixture::lower_hex},
};

const SITE: &str = "https://explorer.example";

/// The value of an attribute after this start; None if the page does not have it.
fn after<'a>(page: &'a str, start: &str) -> Option<&'a str> {
    page.split_once(start).and_then(|(_, rest)| rest.split('"').next())
}

fn canonical(page: &str) -> Option<&str> {
    let found = after(page, "<link rel=\"canonical\" href=\"");
    assert_eq!(found, after(page, "<meta property=\"og:url\" content=\""), "{page}");
    found
}

fn description(page: &str) -> &str {
    let found = after(page, "<meta name=\"description\" content=\"");
    assert_eq!(found, after(page, "<meta property=\"og:description\" content=\""), "{page}");
    found.unwrap()
}

fn is_listed(page: &str) -> bool {
    !page.contains("<meta name=\"robots\" content=\"noindex\">")
}

/// The URLs of a sitemap or of its index, which must be exactly as the protocol demands.
fn locations(xml: &str, root: &str, element: &str) -> Vec<String> {
    let head = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    let body = xml
        .strip_prefix(&head)
        .and_then(|rest| rest.strip_suffix(&format!("</{root}>\n")))
        .unwrap_or_else(|| panic!("{xml}"));
    let (start, end) = (format!("<{element}><loc>"), format!("</loc></{element}>"));
    let url = |line: &str| {
        let url =
            line.strip_prefix(&start).and_then(|rest| rest.strip_suffix(&end)).unwrap_or_else(|| panic!("{line}"));
        assert!(!url.contains(['<', '>', '&', '"', '\'', ' ']), "{url}");
        reqwest::Url::parse(url).unwrap();
        url.to_owned()
    };
    body.lines().map(url).collect()
}

async fn sitemap(explorer: &TestExplorer, path: &str, root: &str, element: &str) -> Vec<String> {
    let answer = explorer.get(path).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/xml; charset=utf-8"), "{path}");
    assert_eq!(answer.header("cache-control"), "public, max-age=3600", "{path}");
    locations(&answer.text, root, element)
}

#[tokio::test]
async fn every_page_has_one_canonical_url() {
    let (node, _) = DevNode::with_traffic(150).await;
    for base in ["", "/chains/dev"] {
        let explorer = Launch::run(&node.url()).argument("--public-url", format!("{SITE}{base}/")).start().await;
        node.wait_for(&explorer).await;
        let get = async |path: &str| explorer.get(&format!("{base}{path}")).await.text;

        let block = explorer.json("/api/v1/blocks/2").await;
        let hash = block["hash"].as_str().unwrap();
        let tx =
            explorer.json("/api/v1/transactions?limit=1").await["transactions"][0]["hash"].as_str().unwrap().to_owned();
        let owner = node.account(0);
        let (full, lower) = (owner.to_checksum(None), lower_hex(owner));
        let token = explorer.json("/api/v1/tokens?limit=1").await["tokens"][0]["address"].as_str().unwrap().to_owned();
        let token_path = format!("/token/{}", token.parse::<alloy_primitives::Address>().unwrap().to_checksum(None));
        // The same content has the same URL, and a page that changes with every block or repeats others is left out.
        for (path, expected, listed) in [
            ("/".to_owned(), "/".to_owned(), true),
            ("/blocks".to_owned(), "/blocks".to_owned(), true),
            ("/blocks?page=1&limit=100".to_owned(), "/blocks".to_owned(), true),
            ("/blocks?page=2".to_owned(), "/blocks?page=2".to_owned(), false),
            ("/block/2".to_owned(), "/block/2".to_owned(), true),
            (format!("/block/{hash}"), "/block/2".to_owned(), true),
            (format!("/block/{hash}/header"), "/block/2/header".to_owned(), false),
            ("/transactions".to_owned(), "/transactions".to_owned(), true),
            (format!("/tx/{tx}"), format!("/tx/{tx}"), true),
            (format!("/tx/{tx}/calls"), format!("/tx/{tx}/calls"), true),
            (format!("/address/{lower}"), format!("/address/{full}"), true),
            (format!("/address/{lower}?tab=transfers"), format!("/address/{full}?tab=transfers"), true),
            (format!("/address/{lower}?tab=contract"), format!("/address/{full}?tab=contract"), true),
            (format!("/address/{lower}?direction=in"), format!("/address/{full}?direction=in"), false),
            (format!("/address/0x{}", "17".repeat(20)), format!("/address/0x{}", "17".repeat(20)), false),
            ("/tokens".to_owned(), "/tokens".to_owned(), true),
            (format!("/token/{token}"), token_path.clone(), true),
            (format!("/token/{token}?tab=holders"), format!("{token_path}?tab=holders"), true),
            ("/transfers".to_owned(), "/transfers".to_owned(), true),
            ("/trades".to_owned(), "/trades".to_owned(), true),
            ("/trades?dex=House".to_owned(), "/trades?dex=House".to_owned(), false),
            ("/charts".to_owned(), "/charts".to_owned(), true),
            ("/charts?days=90".to_owned(), "/charts?days=90".to_owned(), false),
            ("/gas".to_owned(), "/gas".to_owned(), true),
            ("/contracts".to_owned(), "/contracts".to_owned(), true),
            (format!("/verify?address={lower}"), "/verify".to_owned(), true),
            ("/keys".to_owned(), "/keys".to_owned(), true),
            ("/webhooks".to_owned(), "/webhooks".to_owned(), true),
        ] {
            let page = get(&path).await;
            let url = format!("{SITE}{base}{expected}").replace('&', "&#38;");
            assert_eq!((canonical(&page), is_listed(&page)), (Some(url.as_str()), listed), "{path}");
        }
        for path in ["/search?q=zz", "/nothing", "/block/99999999"] {
            let page = get(path).await;
            assert_eq!((canonical(&page), is_listed(&page)), (None, false), "{path}");
        }
    }
}

#[tokio::test]
async fn descriptions_say_what_is_on_the_page() {
    let (node, _) = DevNode::with_traffic(150).await;
    let explorer = Launch::run(&node.url()).configured("[looks]\nchain-name = 'House <chain>'").start().await;
    node.wait_for(&explorer).await;
    let page = async |path: &str| explorer.get(path).await.text;

    let block = explorer.json("/api/v1/blocks/3").await;
    let home = page("/").await;
    assert_eq!(canonical(&home), None, "the public URL is not known");
    assert!(description(&home).starts_with("Block explorer of House &#60;chain&#62;: latest block "), "{home}");

    let text = page("/block/3").await;
    let count = block["txCount"].as_u64().unwrap();
    let expected = format!("Block 3 of House &#60;chain&#62; with {count} transaction");
    assert!(description(&text).starts_with(&expected), "{expected}: {}", description(&text));
    assert!(description(&text).contains(" UTC: gas used "), "{}", description(&text));

    // Names are read from the contracts after their blocks are indexed.
    let token = eventually("a token has a name", async || {
        let token = explorer.json("/api/v1/tokens?limit=1").await["tokens"][0].clone();
        Some(token).filter(|token| token["name"].as_str().is_some_and(|name| !name.is_empty()))
    })
    .await;
    let text = page(&format!("/token/{}", token["address"].as_str().unwrap())).await;
    let found = description(&text);
    for expected in [
        format!("{} ({}): ERC", token["name"].as_str().unwrap(), token["symbol"].as_str().unwrap()),
        format!(" with {} holder", token["holderCount"]),
    ] {
        assert!(found.contains(&expected), "{expected}: {found}");
    }

    let tx = explorer.json("/api/v1/transactions?limit=1").await["transactions"][0].clone();
    let text = page(&format!("/tx/{}", tx["hash"].as_str().unwrap())).await;
    let found = description(&text);
    assert!(found.contains(" transaction on House ") && found.contains(" in block "), "{found}");

    let text = page(&format!("/address/{}", node.account(0))).await;
    let found = description(&text);
    assert!(found.contains(&node.account(0).to_string()) && found.contains(", balance "), "{found}");

    let paths = [
        "/",
        "/blocks",
        "/block/3",
        "/transactions",
        "/transfers",
        "/tokens",
        "/trades",
        "/charts",
        "/gas",
        "/contracts",
    ];
    let mut seen = BTreeSet::new();
    for path in paths.into_iter().chain(["/keys", "/webhooks", "/verify", "/block/4"]) {
        let text = page(path).await;
        let found = description(&text);
        assert!(found.chars().count() < 260 && found.contains("House &#60;chain&#62;"), "{path}: {found}");
        assert!(seen.insert(found.to_owned()), "{path} has the description of another page: {found}");
    }
}

#[tokio::test]
async fn the_sitemap_has_the_first_and_the_last_block_and_all_tokens() {
    let (node, _) = DevNode::with_traffic(150).await;
    let head = node.chain.head().number;
    for (base, start) in [("", 0), ("/chains/dev", 3)] {
        let launch = Launch::run(&node.url()).argument("--public-url", format!("{SITE}{base}"));
        let explorer = launch.argument("--start-block", start).start().await;
        node.wait_for(&explorer).await;

        let robots = explorer.get("/robots.txt").await.text;
        assert!(robots.contains(&format!("\nSitemap: {SITE}{base}/sitemap.xml\n")), "{robots}");
        assert!(robots.contains(&format!("Disallow: {base}/api\n")), "{robots}");

        let files = sitemap(&explorer, &format!("{base}/sitemap.xml"), "sitemapindex", "sitemap").await;
        let expected = ["pages", "tokens-0", "blocks-0"].map(|name| format!("{SITE}{base}/sitemap/{name}.xml"));
        assert_eq!(files, expected);
        let mut listed = BTreeSet::new();
        for file in &files {
            let path = file.strip_prefix(SITE).unwrap();
            listed.extend(sitemap(&explorer, path, "urlset", "url").await);
        }
        let blocks: BTreeSet<String> = (start..=head).map(|number| format!("{SITE}{base}/block/{number}")).collect();
        assert!(blocks.is_subset(&listed), "{listed:?}");
        assert_eq!(listed.iter().filter(|url| url.contains("/block/")).count(), blocks.len());
        assert_eq!(
            listed.iter().filter(|url| url.contains("/token/")).count() as u64,
            explorer.json("/api/v1/tokens").await["total"].as_u64().unwrap()
        );
        // A sitemap lists what the pages call themselves.
        for url in listed.iter().filter(|url| !url.contains("/block/")).take(40) {
            let page = explorer.get(url.strip_prefix(SITE).unwrap()).await;
            assert_eq!((page.status, canonical(&page.text), is_listed(&page.text)), (200, Some(url.as_str()), true));
        }
        for path in
            ["/sitemap/blocks-1.xml", "/sitemap/blocks-99999999999999999999.xml", "/sitemap/nfts-0.xml", "/sitemap/x"]
        {
            assert_eq!(explorer.get(path).await.status, 404, "{path}");
        }
    }
}

#[tokio::test]
async fn verified_contracts_are_in_the_sitemap() {
    let fixture = VerifierFixture::with_options(&[("--public-url", SITE)]).await;
    let address = fixture.compile_and_deploy(&Case::coin("0.8.20")).await;
    fixture.verify(&address, "0.8.20+commit.a1b79de6", COIN).await;
    let files = sitemap(&fixture.explorer, "/sitemap.xml", "sitemapindex", "sitemap").await;
    assert!(files.contains(&format!("{SITE}/sitemap/contracts-0.xml")), "{files:?}");
    let contracts = sitemap(&fixture.explorer, "/sitemap/contracts-0.xml", "urlset", "url").await;
    let full = address.parse::<alloy_primitives::Address>().unwrap().to_checksum(None);
    assert_eq!(contracts, [format!("{SITE}/address/{full}?tab=contract")]);
    let page = fixture.page(&format!("/address/{full}?tab=contract")).await;
    assert_eq!((canonical(&page), is_listed(&page)), (Some(contracts[0].as_str()), true));
}

#[tokio::test]
async fn there_is_no_sitemap_without_a_public_url_and_its_pages_are_limited_like_others() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    assert!(!explorer.get("/robots.txt").await.text.contains("Sitemap"));
    for path in ["/sitemap.xml", "/sitemap/pages.xml", "/sitemap/blocks-0.xml"] {
        assert_eq!(explorer.get(path).await.status, 404, "{path}");
    }

    let limited =
        Launch::run(&node.url()).argument("--public-url", SITE).argument("--pages-per-minute", 1).start().await;
    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(limited.get("/sitemap/pages.xml").await.status);
    }
    assert!(statuses.starts_with(&[200]) && statuses.ends_with(&[429]), "{statuses:?}");
}
