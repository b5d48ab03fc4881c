use serde_json::json;

use crate::support::{
    Fixture, Launch, Rpc, assert_prompt_stop,
    client::Client,
    eventually,
    process::{Process, Signal},
};

/// A demo whose API answers every request.
async fn demo() -> (Process, Client) {
    let mut demo = Launch::demo(300).argument("--anonymous-requests-per-minute", 0).spawn();
    let base = demo.printed("Open   ").await;
    (demo, Client::new(base.trim_end_matches('/')))
}

/// The links of the panel on the first page: title and path.
fn tour(home: &str) -> Vec<(&str, &str)> {
    let (_, panel) = home.split_once("<h2 id=\"tour\">What to try</h2>").expect("the panel");
    let (panel, _) = panel.split_once("</section>").unwrap();
    let links = panel.split("<a href=\"").skip(1);
    links
        .map(|link| {
            let (path, rest) = link.split_once("\">").unwrap();
            (rest.split_once("</a>").unwrap().0, path)
        })
        .collect()
}

#[tokio::test]
async fn the_demo_comes_up_alive_and_keeps_what_its_banner_promises() {
    let temporary = tempfile::tempdir().unwrap();
    let launch = Launch::demo(300).argument("--block-time", 1).argument("--chain-id", 4242);
    let mut demo = launch.variable("TMPDIR", temporary.path().display()).spawn();
    demo.printed("Ctrl-C ends it").await;
    let banner = demo.stdout();

    let urls_in = |line: &str| -> Vec<String> {
        let words = line.split_whitespace().map(|word| word.trim_matches('\''));
        words.filter(|word| word.starts_with("http://")).map(str::to_owned).collect()
    };
    let (chain, pages): (Vec<&str>, Vec<&str>) =
        banner.lines().partition(|line| line.trim_start().starts_with("Chain"));
    let pages: Vec<String> = pages.into_iter().flat_map(urls_in).collect();
    let [rpc] = &chain.into_iter().flat_map(urls_in).collect::<Vec<_>>()[..] else { panic!("one chain: {banner}") };
    assert!(pages.len() >= 7 && banner.matches("curl ").count() >= 4, "{banner}");
    let client = Client::new("");
    for url in &pages {
        assert_eq!(client.get(url).await.status, 200, "{url}");
    }
    assert_eq!(Rpc::new(rpc).call("eth_chainId", json!([])).await, "0x1092");
    assert!(banner.contains("chain id 4242"), "{banner}");

    let base = pages.iter().find_map(|page| page.strip_suffix("/api/v1/stats")).unwrap();
    let api = Client::new(base);
    let stats = api.json("/api/v1/stats").await;
    assert!(stats["totalTransactions"].as_u64().unwrap() >= 300, "{stats}");
    eventually("a new block", async || {
        let now = api.json("/api/v1/stats").await;
        (now["latestBlock"].as_u64() > stats["latestBlock"].as_u64()).then_some(())
    })
    .await;

    let ended = demo.stop(Signal::Interrupt).await;
    assert_prompt_stop(&ended);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "nothing is kept");
}

/// What the page behind each link of the panel has to show.
const PROMISES: [(&str, &[&str]); 13] = [
    ("A swap", &["id=\"trades\"", "swapExactETHForTokens", ">HUSD</bdi>", "amountOutMin"]),
    ("A failed swap", &["data-outcome=\"failed\"", "TooLittleOut("]),
    ("Other failures", &["withMessage", "withDivision", "withoutEnd", "Failed"]),
    ("Payments inside a call", &["id=\"internal\"", ">payday</span>", "Wages of the week", "Harbour payroll"]),
    ("Its tree of calls", &["delegatecall", "payday", "0.25"]),
    ("A proxy", &["A proxy of", "whose functions can be called below", "<code>crew</code>", "Exact match"]),
    ("An NFT", &["Paper Boat ", "/image\"", "Folded and drawn by its contract."]),
    ("An impostor", &["This may be an imitation", ">HUSD 0x", "imitation?", "Harbor Dollar"]),
    ("A message", &["Thank you for the boats!"]),
    ("Verified contracts", &["PaperBoats", "Payroll", "V2Router"]),
    ("Charts", &["<svg"]),
    ("API", &["OpenAPI"]),
    ("API keys", &["API keys"]),
];

/// A page with what the node tells. This test reads pages faster than a client may have calls of the node, and then they are without.
async fn complete_page(client: &Client, path: &str, is_complete: impl Fn(&str) -> bool) -> String {
    let mut page = String::new();
    for _ in 0..30 {
        page = client.get(path).await.text;
        if is_complete(&page) {
            return page;
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    panic!("{path} is never complete: {page}")
}

#[tokio::test]
async fn every_link_of_the_first_page_shows_what_it_promises() {
    let (mut demo, client) = demo().await;
    let home = client.get("/").await.text;
    let tour = tour(&home);
    assert_eq!(tour.len(), PROMISES.len(), "{tour:?}");
    for ((title, path), (promised, shown)) in tour.iter().zip(PROMISES) {
        assert_eq!(*title, promised);
        // Names of tokens are read from the contracts after their blocks are indexed.
        let page = eventually(&format!("{title} at {path}"), async || {
            let answer = client.get(path).await;
            assert_eq!(answer.status, 200, "{path}");
            shown.iter().all(|text| answer.text.contains(text)).then_some(answer.text)
        })
        .await;
        assert!(!page.contains("guessed"), "{title} is known, not guessed:\n{page}");
    }
    let path = |wanted: &str| tour.iter().find(|(title, _)| *title == wanted).unwrap().1;

    let image = client.request("GET", &format!("{}/image", path("An NFT"))).send().await.unwrap();
    assert_eq!((image.status().as_u16(), &image.headers()["content-type"]), (200, &"image/png".parse().unwrap()));
    assert!(image.bytes().await.unwrap().starts_with(b"\x89PNG\r\n"));

    let impostor = path("An impostor").trim_start_matches("/token/");
    let unverified = client.get(&format!("/api/v1/contracts/{impostor}")).await;
    assert_eq!((unverified.status, &unverified.json["code"]), (404, &json!("contract_not_verified")));
    // Reasons of other kinds, on the pages of the transactions that the list links to.
    let failures = client.get(path("Other failures")).await.text;
    let mut reasons = Vec::new();
    for hash in failures.split("href=\"/tx/").skip(1).filter_map(|link| link.get(..66)) {
        let has_reason = |page: &str| !page.contains("The reason is not available now: try again shortly.");
        let page = complete_page(&client, &format!("/tx/{hash}"), has_reason).await;
        reasons.extend(page.split_once("<dt>Reason</dt>").map(|(_, reason)| reason[..200].to_owned()));
    }
    for reason in ["amount is too small", "Panic", "out of gas"] {
        assert!(
            reasons.iter().any(|shown| shown.to_lowercase().contains(&reason.to_lowercase())),
            "{reason}: {reasons:?}"
        );
    }
    // The proxy has the functions of its implementation, also in lists.
    let proxy = path("A proxy").split('?').next().unwrap();
    let list = complete_page(&client, proxy, |page| page.contains("title=\"payday\">payday</span>")).await;
    assert!(!list.contains(">0xef1f38a0<"), "{list}");
    demo.stop(Signal::Interrupt).await;
}

#[tokio::test]
async fn the_contracts_of_the_demo_are_verified_from_the_start() {
    let (mut demo, client) = demo().await;
    let list = client.json("/api/v1/contracts?limit=100").await;
    let contracts = list["contracts"].as_array().unwrap();
    assert_eq!((contracts.len(), &list["total"]), (21, &json!(21)), "{list}");
    for contract in contracts {
        let matches = (&contract["match"], &contract["creationMatch"], &contract["license"]);
        assert_eq!(matches, (&json!("exact"), &json!("exact"), &json!("MIT")), "{contract}");
    }
    let address = |name: &str| {
        let found = contracts.iter().find(|contract| contract["name"] == name).unwrap_or_else(|| panic!("{name}"));
        found["address"].as_str().unwrap().to_owned()
    };
    let router = client.json(&format!("/api/v1/contracts/{}", address("V2Router"))).await;
    assert_eq!(router["compilerVersion"], "0.8.37+commit.f401782d", "{router}");
    let arguments = router["constructorArguments"].as_str().unwrap();
    assert!(arguments.contains(&address("V2Factory")[2..]) && arguments.contains(&address("WrappedCoin")[2..]));

    // A function of the implementation, with the storage of the proxy.
    let crew = client.json(&format!("/api/v1/contracts/{}/call?functionName=crew", address("Proxy"))).await;
    let text = crew.to_string();
    assert!(text.contains("Ada, navigator") && text.contains("Zoë, cook"), "{crew}");
    let empty = client.json(&format!("/api/v1/contracts/{}/call?functionName=paydays", address("Payroll"))).await;
    assert!(empty.to_string().contains("\"0\""), "{empty}");
    demo.stop(Signal::Interrupt).await;
}

#[tokio::test]
async fn only_the_demo_says_what_to_try() {
    let home = Fixture::shared().await.explorer.get("/").await.text;
    assert!(home.contains("Latest blocks") && !home.contains("What to try"), "{home}");
}
