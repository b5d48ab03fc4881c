use serde_json::json;

use crate::support::{Launch, Rpc, assert_prompt_stop, client::Client, eventually, process::Signal};

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
    assert_prompt_stop(&ended).await;
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "nothing is kept");
}
