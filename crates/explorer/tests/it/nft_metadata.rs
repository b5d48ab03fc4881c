//! Metadata and images of NFTs: from real contracts and a real host, to the API and the pages.

mod host;

use std::net::Ipv4Addr;

use alloy_primitives::{Address, hex, keccak256};
use host::{Host, PNG, Reply};
use serde_json::{Value, json};

use crate::{
    real_contracts::contracts::{deploy, send},
    support::{Anvil, Launch, Stopwatch, TestExplorer, client::Answer, eventually, permits},
    webhooks::egress::NameServer,
};

struct Collection {
    anvil: Anvil,
    owner: String,
    /// An ERC-721 token with a URI for each id.
    pieces: String,
    /// An ERC-1155 token.
    items: String,
}

impl Collection {
    async fn deploy() -> Self {
        let anvil = Anvil::start().await;
        let owner = anvil.accounts().await.remove(0);
        let pieces = deploy(&anvil, &owner, "NamedPieces", &[]).await;
        let items = deploy(&anvil, &owner, "NamedItems", &[]).await;
        Self { anvil, owner, pieces, items }
    }

    /// Calls `function(head..., string)`.
    async fn call(&self, token: &str, signature: &str, head: &[String], uri: &str) {
        let padded = uri.len().next_multiple_of(32) * 2;
        let data = format!(
            "{}{}{:064x}{:064x}{:0<padded$}",
            hex::encode_prefixed(&keccak256(signature)[..4]),
            head.concat(),
            32 * (head.len() + 1),
            uri.len(),
            hex::encode(uri)
        );
        send(&self.anvil, json!({"from": self.owner, "to": token, "data": data})).await;
    }

    async fn mint(&self, token: &str, id: u64, uri: &str) {
        let head = [format!("{:0>64}", &self.owner[2..]), format!("{id:064x}")];
        self.call(token, "mint(address,uint256,string)", &head, uri).await;
    }

    async fn set_uri(&self, id: u64, uri: &str) {
        self.call(&self.pieces, "setUri(uint256,string)", &[format!("{id:064x}")], uri).await;
    }

    fn launch(&self) -> Launch {
        self.launch_with("on")
    }

    /// With a value of `--nft-metadata`.
    fn launch_with(&self, source: &str) -> Launch {
        Launch::run(self.anvil.url())
            .argument("--nft-metadata", source)
            .variable("EXPLORER_WEBHOOK_ALLOW_INSECURE", "true")
    }

    async fn start(&self, launch: Launch) -> TestExplorer {
        let explorer = launch.start().await;
        self.anvil.wait_for(&explorer).await;
        explorer
    }

    fn page(&self, id: u64) -> String {
        format!("/token/{}/{id}", self.pieces.parse::<Address>().unwrap().to_checksum(None))
    }
}

fn path(token: &str, id: u64) -> String {
    format!("/api/v1/tokens/{token}/ids/{id}")
}

/// The metadata, as soon as it is known.
async fn metadata(explorer: &TestExplorer, token: &str, id: u64) -> Value {
    eventually("the metadata of an id", async || {
        let answer = explorer.json(&path(token, id)).await;
        assert_eq!(answer["metadataEnabled"], true);
        (answer["metadata"]["state"] != "pending").then(|| answer["metadata"].clone())
    })
    .await
}

async fn refresh(explorer: &TestExplorer, token: &str, id: u64) -> Value {
    let client = explorer.client();
    let answer = client.send(client.request("POST", &format!("{}/metadata", path(token, id)))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json["metadata"].clone()
}

/// The image, as soon as it is known whether there is one.
async fn image(explorer: &TestExplorer, token: &str, id: u64) -> Answer {
    eventually("the image of an id", async || {
        let answer = explorer.client().get(&format!("{}/image", path(token, id))).await;
        (answer.status != 503).then_some(answer)
    })
    .await
}

#[tokio::test]
async fn metadata_is_fetched_once_kept_and_shown_without_its_markup() {
    let (collection, host) = (Collection::deploy().await, Host::start().await);
    let document = json!({
        "name": "<script>alert(1)</script>\u{202e}gnirts",
        "description": "First line\nsecond <img src=x onerror=alert(2)>",
        "image": host.put("/1.png", Reply::png()),
        "attributes": [
            { "trait_type": "color\u{200b}", "value": "<b>red</b>" }, { "trait_type": "age", "value": 3 },
        ],
    });
    let first = host.put("/start", Reply::Redirect("/1.json".to_owned()));
    host.put("/1.json", Reply::json(document.to_string()));
    collection.mint(&collection.pieces, 1, &first).await;
    // {"name":"on chain"}
    collection.mint(&collection.pieces, 2, "data:application/json;base64,eyJuYW1lIjoib24gY2hhaW4ifQ==").await;
    host.put(&format!("/{:064x}.json", 0x1f), Reply::json(r#"{"name":"thirty-one","image":"ipfs://QmHash/{id}.png"}"#));
    host.put(&format!("/ipfs/QmHash/{:064x}.png", 0x1f), Reply::png());
    collection.mint(&collection.items, 0x1f, &format!("{}/{{id}}.json", host.url)).await;

    let explorer = collection.start(collection.launch_with(&host.url)).await;
    let found = metadata(&explorer, &collection.pieces, 1).await;
    assert_eq!((&found["state"], &found["error"]), (&json!("available"), &Value::Null), "{found}");
    assert_eq!((&found["name"], &found["description"]), (&document["name"], &document["description"]));
    let attributes =
        json!([{ "traitType": "color\u{200b}", "value": "<b>red</b>" }, { "traitType": "age", "value": "3" }]);
    assert_eq!((&found["uri"], &found["attributes"]), (&json!(first), &attributes));
    assert_eq!(found["imageUrl"], format!("{}/image", path(&collection.pieces, 1)));
    let on_chain = metadata(&explorer, &collection.pieces, 2).await;
    assert_eq!((&on_chain["name"], &on_chain["imageUrl"]), (&json!("on chain"), &Value::Null), "{on_chain}");
    assert_eq!(metadata(&explorer, &collection.items, 0x1f).await["name"], "thirty-one");

    let shown = image(&explorer, &collection.pieces, 1).await;
    assert_eq!(shown.text.as_bytes(), String::from_utf8_lossy(PNG).as_bytes());
    for (name, value) in [
        ("content-type", "image/png"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("content-disposition", "attachment"),
    ] {
        assert_eq!(shown.header(name), value);
    }
    assert_eq!(image(&explorer, &collection.items, 0x1f).await.header("content-type"), "image/png");

    let client = explorer.client();
    let page = client.get(&collection.page(1)).await;
    let expected = "&#60;script&#62;alert(1)&#60;/script&#62;gnirts";
    assert!(page.status == 200 && page.text.contains(expected) && page.text.contains("red"), "{}", page.text);
    for never in ["<script>alert", "<img src=x", "\u{202e}", "\u{200b}", "<b>red"] {
        assert!(!page.text.contains(never), "{never:?} in {}", page.text);
    }
    let source = format!("{}/image", collection.page(1));
    assert!(page.text.contains(&format!("<img src=\"{source}\"")), "{}", page.text);
    assert!(page.header("content-security-policy").contains("img-src 'self'"));
    let shown = client.get(&source).await;
    assert_eq!((shown.status, shown.header("content-type")), (200, "image/png"));
    assert_eq!(shown.header("content-security-policy"), "default-src 'none'; sandbox");
    assert_eq!(shown.header("x-content-type-options"), "nosniff");
    // Only the image that is in memory is in lists.
    for list in
        [format!("/token/{}?tab=inventory", collection.pieces), format!("/address/{}?tab=nfts", collection.owner)]
    {
        let list = client.get(&list).await.text;
        assert!(list.contains(&format!("src=\"{source}\"")), "{list}");
        assert!(!list.contains(&format!("src=\"{}/image\"", collection.page(2))), "{list}");
    }

    let mut requests = host.requests();
    requests.sort();
    let id = format!("{:064x}", 0x1f);
    let expected =
        ["/1.json", "/1.png", &format!("/{id}.json"), &format!("/ipfs/QmHash/{id}.png"), "/start"].map(str::to_owned);
    assert_eq!(
        requests,
        {
            let mut expected = expected;
            expected.sort();
            expected
        },
        "each resource once"
    );

    // What was fetched is still there without the host.
    let data = explorer.data().clone();
    explorer.stop().await;
    host.stop();
    let explorer = collection.start(collection.launch().on(&data)).await;
    assert_eq!(metadata(&explorer, &collection.pieces, 1).await, found);
}

#[tokio::test]
async fn what_cannot_be_read_has_a_reason_and_is_not_asked_for_again() {
    let (collection, host) = (Collection::deploy().await, Host::start().await);
    let names = NameServer::start(&[Ipv4Addr::new(10, 1, 2, 3)]).await;
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let private = "cannot read the metadata: the URL must not have a private address, localhost or a name that can never be public as its host";
    let cases = [
        ("".to_owned(), "the contract gives no URI for this id"),
        ("7.json".to_owned(), "cannot read the metadata: it is not a URI"),
        ("file:///etc/passwd".to_owned(), "cannot read the metadata: URIs that begin with file: are not supported"),
        (
            "data:text/html,<script>".to_owned(),
            "cannot read the metadata: its data: URI is not of type application/json",
        ),
        ("data:application/json,[1]".to_owned(), "the metadata is not a JSON object"),
        ("ipfs://QmHash".to_owned(), "cannot read the metadata: this explorer has no IPFS gateway"),
        ("http://10.0.0.1/1.json".to_owned(), private),
        ("http://[::ffff:169.254.169.254]/".to_owned(), private),
        (
            format!("http://inside.example:{}/", host.port()),
            "cannot read the metadata: the host cannot be resolved, or has an address that is not public",
        ),
        (host.put("/away", Reply::Redirect("http://192.168.1.1/".to_owned())), private),
        (
            host.put("/loop", Reply::Redirect("/loop".to_owned())),
            "cannot read the metadata: the host redirects more than 4 times",
        ),
        (host.put("/deep", Reply::json(deep)), "the metadata is not a JSON object"),
        (
            host.put("/large", Reply::json(format!("{{\"name\":\"{}\"}}", "x".repeat(3_000_000)))),
            "cannot read the metadata: the response is larger than 262144 bytes",
        ),
        (format!("{}/missing", host.url), "cannot read the metadata: the host responded with status 404"),
    ];
    for (id, (uri, _)) in (1..).zip(&cases) {
        collection.mint(&collection.pieces, id, uri).await;
    }
    let explorer = collection.start(collection.launch().argument("--webhook-dns", names.address)).await;
    for (id, (uri, reason)) in (1..).zip(&cases) {
        let found = metadata(&explorer, &collection.pieces, id).await;
        assert_eq!((&found["state"], &found["error"]), (&json!("unavailable"), &json!(reason)), "{uri}");
        let page = explorer.client().get(&collection.page(id)).await;
        assert!(page.status == 200 && !page.text.contains("<script>"), "{}", page.text);
        assert_eq!(image(&explorer, &collection.pieces, id).await.json["code"], "image_not_available");
    }
    assert_eq!(host.requests().iter().filter(|path| *path == "/missing").count(), 1, "a failure is kept");

    // Without the option for tests, names must not lead to this machine.
    let names = NameServer::start(&[Ipv4Addr::LOCALHOST]).await;
    collection.mint(&collection.pieces, 100, "https://rebound.example/1.json").await;
    collection.mint(&collection.pieces, 101, &host.put("/plain", Reply::json("{}"))).await;
    let launch = Launch::run(collection.anvil.url()).argument("--nft-metadata", "on");
    let strict = collection.start(launch.argument("--webhook-dns", names.address)).await;
    let found = metadata(&strict, &collection.pieces, 100).await;
    assert!(found["error"].as_str().unwrap().contains("not public"), "{found}");
    let found = metadata(&strict, &collection.pieces, 101).await;
    assert!(found["error"].as_str().unwrap().contains("must begin with https"), "{found}");
    assert!(!host.requests().contains(&"/plain".to_owned()));
}

#[tokio::test]
async fn only_raster_images_of_limited_size_are_passed_on() {
    let (collection, host) = (Collection::deploy().await, Host::start().await);
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>"#;
    let content = |kind, text: &str| Reply::Content(kind, text.as_bytes().to_vec());
    let refused = [
        host.put("/a.svg", content("image/svg+xml", svg)),
        host.put("/b.png", content("image/png", svg)),
        host.put("/c.png", content("image/png", "<!doctype html><script>alert(1)</script>")),
        host.put("/d.png", Reply::Content("image/png", [PNG, &vec![0; 3_000_000]].concat())),
        "data:image/svg+xml;base64,PHN2Zy8+".to_owned(),
        "data:text/html,<script>alert(1)</script>".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://127.0.0.2:1/e.png".to_owned(),
        "http://10.0.0.1/f.png".to_owned(),
    ];
    for (id, image) in (1..).zip(&refused) {
        let document = host.put(&format!("/{id}"), Reply::json(json!({ "image": image }).to_string()));
        collection.mint(&collection.pieces, id, &document).await;
    }
    let shown = host.put("/shown", Reply::json(r#"{"image":"data:image/svg+xml;base64,R0lGODlhAQABAAAAACw="}"#));
    collection.mint(&collection.pieces, 50, &shown).await;
    let explorer = collection.start(collection.launch()).await;
    for (id, uri) in (1..).zip(&refused) {
        let answer = image(&explorer, &collection.pieces, id).await;
        assert_eq!((answer.status, &answer.json["code"]), (404, &json!("image_not_available")), "{uri}");
        let page = explorer.client().get(&format!("{}/image", collection.page(id))).await;
        assert!(page.status == 404 && page.text.is_empty(), "{uri}: {}", page.text);
    }
    // The bytes decide, not what the host says.
    assert_eq!(image(&explorer, &collection.pieces, 50).await.header("content-type"), "image/gif");
}

#[tokio::test]
async fn a_reverted_id_has_no_metadata_and_a_new_one_gets_its_own() {
    let (collection, host) = (Collection::deploy().await, Host::start().await);
    let uris = ["old", "new"].map(|name| {
        let picture = host.put(&format!("/{name}.png"), Reply::png());
        host.put(&format!("/{name}"), Reply::json(json!({ "name": name, "image": picture }).to_string()))
    });
    let snapshot = collection.anvil.rpc.call("evm_snapshot", json!([])).await;
    collection.mint(&collection.pieces, 1, &uris[0]).await;
    let explorer = collection.start(collection.launch()).await;
    assert_eq!(metadata(&explorer, &collection.pieces, 1).await["name"], "old");
    assert_eq!(image(&explorer, &collection.pieces, 1).await.status, 200);

    assert_eq!(collection.anvil.rpc.call("evm_revert", json!([snapshot])).await, true);
    collection.mint(&collection.pieces, 2, &uris[0]).await;
    collection.anvil.mine(1).await;
    collection.anvil.wait_for(&explorer).await;
    let client = explorer.client();
    for end in ["", "/image"] {
        assert_eq!(client.get(&format!("{}{end}", path(&collection.pieces, 1))).await.status, 404, "{end}");
    }
    assert_eq!(client.get(&format!("{}/image", collection.page(1))).await.status, 404);

    collection.mint(&collection.pieces, 1, &uris[1]).await;
    collection.anvil.wait_for(&explorer).await;
    assert_eq!(metadata(&explorer, &collection.pieces, 1).await["name"], "new");
    assert_eq!(image(&explorer, &collection.pieces, 1).await.status, 200);
    assert!(host.requests().contains(&"/new.png".to_owned()));
}

#[tokio::test]
async fn metadata_is_refreshed_on_request_and_stays_if_the_host_fails() {
    let (collection, host) = (Collection::deploy().await, Host::start().await);
    collection.mint(&collection.pieces, 1, &host.put("/1", Reply::json(r#"{"name":"egg"}"#))).await;
    let explorer = collection.start(collection.launch()).await;
    assert_eq!(metadata(&explorer, &collection.pieces, 1).await["name"], "egg");
    host.put("/1", Reply::json(r#"{"name":"chicken"}"#));
    assert_eq!(metadata(&explorer, &collection.pieces, 1).await["name"], "egg", "kept");
    let hatched = async || (refresh(&explorer, &collection.pieces, 1).await["name"] == "chicken").then_some(());
    eventually("the new metadata", hatched).await;
    assert!(host.requests().len() == 2, "refused until some seconds have passed: {:?}", host.requests());

    collection.set_uri(1, &format!("{}/gone", host.url)).await;
    collection.anvil.wait_for(&explorer).await;
    let asked = async || {
        assert_eq!(refresh(&explorer, &collection.pieces, 1).await["name"], "chicken");
        host.requests().contains(&"/gone".to_owned()).then_some(())
    };
    eventually("another request to the host", asked).await;
    assert_eq!(metadata(&explorer, &collection.pieces, 1).await["name"], "chicken");
}

#[tokio::test]
async fn a_host_that_does_not_respond_holds_up_neither_its_reader_nor_others() {
    permits::timely().await;
    let (collection, host) = (Collection::deploy().await, Host::start().await);
    let silent = host.put("/silent", Reply::Hang);
    for id in 1..=20 {
        collection.mint(&collection.pieces, id, &silent).await;
    }
    collection.mint(&collection.items, 1, &host.put("/prompt", Reply::json(r#"{"name":"prompt"}"#))).await;
    let explorer = collection.start(collection.launch()).await;
    let watch = Stopwatch::start();
    let ids: Vec<u64> = (1..=20).collect();
    let client = explorer.client();
    let (pieces, prompt) = (&collection.pieces, path(&collection.items, 1));
    let readers =
        ids.iter().map(|id| async move { client.json(&path(pieces, *id)).await["metadata"]["state"].clone() });
    let (states, other) = tokio::join!(futures::future::join_all(readers), client.json(&prompt));
    assert!(states.iter().all(|state| state == "pending"), "{states:?}");
    assert_eq!(other["metadata"]["name"], "prompt");
    // Less than a fetch may take.
    watch.assert_within(9);
    assert!(host.requests().iter().filter(|path| *path == "/silent").count() <= 2, "{:?}", host.requests());
}

#[tokio::test]
async fn nothing_is_fetched_unless_the_operator_turns_it_on() {
    let (collection, host) = (Collection::deploy().await, Host::start().await);
    collection.mint(&collection.pieces, 1, &host.put("/1", Reply::json(r#"{"name":"hidden"}"#))).await;
    let explorer =
        collection.start(Launch::run(collection.anvil.url()).variable("EXPLORER_WEBHOOK_ALLOW_INSECURE", "true")).await;
    let answer = explorer.json(&path(&collection.pieces, 1)).await;
    assert_eq!((&answer["metadataEnabled"], &answer["metadata"]), (&json!(false), &Value::Null));
    assert_eq!(refresh(&explorer, &collection.pieces, 1).await, Value::Null);
    let client = explorer.client();
    let refused = client.get(&format!("{}/image", path(&collection.pieces, 1))).await;
    assert_eq!((refused.status, &refused.json["code"]), (404, &json!("image_not_available")));
    let page = client.get(&collection.page(1)).await.text;
    assert!(!page.contains("id=\"metadata\"") && !page.contains("<img"), "{page}");
    assert_eq!(client.get(&format!("{}/image", collection.page(1))).await.status, 404);
    assert_eq!(host.requests(), Vec::<String>::new());
}
