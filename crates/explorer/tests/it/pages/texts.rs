//! What pages say about odd requests, and their titles.

use alloy_primitives::{Address, address};
use serde_json::json;

use crate::{
    contracts::verifier_fixture::{COIN, Case, VerifierFixture},
    support::{DevNode, Fixture, Launch, client::Client, deadline::eventually, permits, process::Signal},
};

const BURN: Address = address!("000000000000000000000000000000000000dEaD");

#[tokio::test]
async fn a_page_past_the_end_says_how_many_there_are_and_links_to_the_last() {
    let fixture = Fixture::shared().await;
    let page = fixture.explorer.get("/transactions?page=99999").await.text;
    assert!(!page.contains("99,999"), "{page}");
    let last = page.split("There are only ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let href = format!("<a href=\"/transactions?page={last}\">the last page</a>");
    assert!(page.contains(&href), "{page}");
    let page = fixture.explorer.get(&format!("/transactions?page={last}")).await.text;
    assert!(page.contains(&format!("page {last} of {last}")), "{page}");
}

#[tokio::test]
async fn a_malformed_hash_is_called_malformed() {
    let fixture = Fixture::shared().await;
    let cut = &fixture.payment.to_string()[..65];
    for path in [format!("/tx/{cut}"), format!("/tx/{cut}/input"), format!("/block/{cut}")] {
        let answer = fixture.explorer.get(&path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.text.contains("64 hexadecimal digits"), "{path}: {}", answer.text);
        assert!(!answer.text.contains("pending") && !answer.text.contains("not be indexed yet"), "{path}");
    }
    let search = fixture.explorer.get(&format!("/search?q={cut}")).await.text;
    assert!(search.contains("it has 63.") && !search.contains("pending"), "{search}");
    let unknown = fixture.explorer.get(&format!("/tx/0x{}", "ab".repeat(32))).await.text;
    assert!(unknown.contains("the node does not know it"), "{unknown}");
}

#[tokio::test]
async fn a_redirect_keeps_the_query() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    for (path, target) in [
        ("/txs?page=2", "/transactions?page=2"),
        ("/blocks/7?page=2", "/block/7?page=2"),
        ("/tokens/0xab?tab=holders", "/token/0xab?tab=holders"),
    ] {
        let answer = client.get_without_following(path).await;
        assert_eq!((answer.status, answer.header("location")), (308, target), "{path}");
    }
}

#[tokio::test]
async fn a_form_without_a_script_does_not_put_a_key_into_the_url() {
    let fixture = Fixture::shared().await;
    for path in ["/keys", "/webhooks"] {
        let page = fixture.explorer.get(path).await.text;
        assert_eq!(page.matches("<form id=").count(), page.matches("class=\"form\" method=\"post\"").count(), "{path}");
        assert!(
            !page.contains("<button type=\"submit\">") && page.contains("<button type=\"submit\" disabled>"),
            "{path}"
        );
        assert!(page.contains("<noscript>"), "{path}");
    }
}

#[tokio::test]
async fn null_and_burn_addresses_have_names_and_robots_have_rules() {
    let fixture = Fixture::shared().await;
    for (address, name) in [(Address::ZERO, "Null address"), (BURN, "Burn address")] {
        let page = fixture.explorer.get(&format!("/address/{address}")).await;
        assert!(page.status == 200 && page.text.contains(name), "{address}: {}", page.text);
    }
    let home = fixture.explorer.get("/blocks").await.text;
    assert!(home.contains("<meta name=\"description\" content=\"Blocks on "), "{home}");
    let robots = fixture.explorer.get("/robots.txt").await;
    assert!(robots.header("content-type").starts_with("text/plain"));
    assert!(robots.text.starts_with("User-agent: *\n") && robots.text.contains("Disallow: /api\n"), "{}", robots.text);
}

#[tokio::test]
async fn the_reference_is_a_page_like_others() {
    let fixture = Fixture::shared().await;
    let page = fixture.explorer.get("/docs").await.text;
    for part in
        ["<a href=\"/docs\" aria-current=\"true\">API</a>", "name=\"q\"", "id=\"health\"", "class=\"reference\""]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn limits_are_told_as_the_operator_set_them() {
    let node = DevNode::start().await;
    for (requests, told) in
        [("1500", "1,500 requests in any 60 seconds"), ("0", "the number of requests is not limited")]
    {
        let explorer = Launch::run(&node.url()).argument("--anonymous-requests-per-minute", requests).start().await;
        for path in ["/keys", "/docs"] {
            let page = explorer.get(path).await.text;
            assert!(page.contains(told) && !page.contains("10 requests"), "{path}: {page}");
        }
        let document = explorer.json("/api/v1/openapi.json").await;
        let description = document["info"]["description"].as_str().unwrap();
        let limit = if requests == "0" { "there is no rate limit" } else { "the rate limit is 1500 requests" };
        assert!(description.contains(limit) && !description.contains("is 10 requests"), "{description}");
    }
}

#[tokio::test]
async fn the_trades_of_a_pool_are_listed_on_its_page_and_tokens_are_named_in_titles() {
    permits::busy().await;
    let mut demo = Launch::demo(1_500).argument("--anonymous-requests-per-minute", 100_000).spawn();
    let base = demo.printed("Open   ").await;
    let client = Client::new(base.trim_end_matches('/'));
    let newest_trade = async || {
        let trades = client.query(json!({ "entity": "dex_trades", "limit": 1 })).await;
        Some(trades["data"][0].clone()).filter(|trade| trade["txHash"].is_string())
    };
    // The demo goes on trading, so that the trade may be on the second page at once.
    eventually("the newest trade is on the page of its pool", async || {
        let trade = newest_trade().await?;
        let pool = trade["pairAddress"].as_str().unwrap();
        let page = client.get(&format!("/address/{pool}?tab=trades")).await.text;
        page.contains(trade["txHash"].as_str().unwrap()).then(|| assert!(!page.contains("No trades:"), "{page}"))
    })
    .await;

    // Names are read from the contracts after their blocks are indexed.
    let token = eventually("a token has a name", async || {
        let token = client.json("/api/v1/tokens?limit=1").await["tokens"][0].clone();
        Some(token).filter(|token| token["name"].as_str().is_some_and(|name| !name.is_empty()))
    })
    .await;
    let name = token["name"].as_str().unwrap();
    let page = client.get(&format!("/address/{}", token["address"].as_str().unwrap())).await.text;
    assert!(page.contains(&format!("<title>Contract {name} 0x")), "{page}");
    eventually("a token is minted", async || {
        client.get("/transfers").await.text.contains("Null address").then_some(())
    })
    .await;
    demo.stop(Signal::Interrupt).await;
}

#[tokio::test]
async fn the_title_of_a_verified_contract_has_its_name() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.compile_and_deploy(&Case::coin("0.8.20")).await;
    fixture.verify(&address, "0.8.20+commit.a1b79de6", COIN).await;
    let page = fixture.page(&format!("/address/{address}")).await;
    assert!(page.contains("<title>Contract Coin 0x"), "{page}");
}

#[tokio::test]
async fn links_ranges_and_parts_of_names_are_found() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    let found = client.get("/search/suggest?q=bob").await;
    assert_eq!((&found.json[0]["kind"], &found.json[0]["title"]), (&"Address".into(), &"Treasury of Bob".into()));
    let range = client.get("/search/suggest?q=1%20-%203").await.json;
    assert_eq!((&range[0]["href"], &range[1]["href"]), (&"/block/1".into(), &"/block/3".into()));
    for (query, page) in [
        (format!("https://other.example/tx/{}?x=1", fixture.call), format!("/tx/{}", fixture.call)),
        ("https://other.example/block/2".to_owned(), "/block/2".to_owned()),
    ] {
        let query: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let moved = client.get_without_following(&format!("/search?q={query}")).await;
        assert_eq!((moved.status, moved.header("location")), (303, page.as_str()));
    }
}

#[tokio::test]
async fn commands_have_the_address_of_the_server_and_not_that_of_a_header() {
    let fixture = Fixture::shared().await;
    let node = DevNode::start().await;
    let public = Launch::run(&node.url()).argument("--public-url", "https://explorer.example/dev").start().await;
    let contract = format!("/address/{}?tab=contract", fixture.logger);
    let local = fixture.explorer.client();
    for (client, expected, path) in [
        (local, local.url(""), "/keys"),
        (local, local.url(""), contract.as_str()),
        (public.client(), "https://explorer.example/dev".to_owned(), "/keys"),
    ] {
        for host in ["203.0.113.9", "203.0.113.9:3000", "[2001:db8::9]", "localhost:9", "evil.example"] {
            let request = client.request("GET", path).header("Host", host).header("X-Forwarded-Host", host);
            let page = client.send(request.header("X-Forwarded-Proto", "https")).await;
            assert_eq!(page.status, 200, "{path} {host}: {}", page.text);
            assert!(!page.text.contains(host), "{path} {host}: {}", page.text);
            assert!(page.text.contains(&format!("{expected}/api/v1/")), "{path} {host}: {}", page.text);
        }
    }
}
