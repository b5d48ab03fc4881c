//! Labels in all scripts.

use std::fs;

use alloy_primitives::{TxKind, U256};

use crate::support::{DevNode, Launch, TestExplorer, fixture::lower_hex};

const LABELS: [&str; 6] = [
    "\u{dc}berweisung, \u{d6}sterreich",
    "\u{fc}berweisung, \u{f6}sterreich 2",
    "\u{4ea4}\u{6613}\u{6240} \u{1f3e6}",
    "\u{639}\u{645}\u{64a}\u{644} 7",
    "\u{411}\u{438}\u{440}\u{436}\u{430} \"\u{42e}\u{433}\"",
    "Cafe\u{301} <&> 'x'",
];

fn encoded(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

async fn suggested(explorer: &TestExplorer, query: &str) -> Vec<String> {
    let found = explorer.json(&format!("/search/suggest?q={}", encoded(query))).await;
    found.as_array().unwrap().iter().map(|found| found["title"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn labels_that_are_not_ascii_are_shown_and_found() {
    let node = DevNode::start().await;
    for account in 1..=LABELS.len() {
        node.chain.send(0, TxKind::Call(node.account(account)), U256::from(account), []).unwrap();
    }
    node.chain.mine(None);
    let file = tempfile::NamedTempFile::new().unwrap();
    let line = |(account, label): (usize, &str)| {
        format!("{},\"{}\"\r\n", lower_hex(node.account(account)), label.replace('"', "\"\""))
    };
    // As a spreadsheet saves it.
    let lines: String = (1..).zip(LABELS).map(line).collect();
    fs::write(file.path(), format!("\u{feff}{lines}")).unwrap();
    let explorer = Launch::run(&node.url()).argument("--labels", file.path().display()).start().await;
    node.wait_for(&explorer).await;

    let list = explorer.get("/transactions").await.text;
    for (account, label) in (1..).zip(LABELS) {
        let address = node.account(account);
        let detail = explorer.json(&format!("/api/v1/addresses/{address}")).await;
        assert_eq!(detail["label"], label);
        let escaped = label
            .replace('&', "&#38;")
            .replace('<', "&#60;")
            .replace('>', "&#62;")
            .replace('"', "&#34;")
            .replace('\'', "&#39;");
        let page = explorer.get(&format!("/address/{address}")).await.text;
        assert!(page.contains(&format!("<bdi class=\"label\">{escaped}</bdi>")), "{label}: {page}");
        assert!(list.contains(&escaped), "{label}: {list}");
    }

    // Any letter case, the beginning first.
    let both = [LABELS[0], LABELS[1]];
    for query in ["\u{fc}berweisung", "\u{dc}BERWEISUNG", "\u{d6}ster"] {
        assert_eq!(suggested(&explorer, query).await, both, "{query}");
    }
    for (query, label) in [
        ("\u{6613}\u{6240}", LABELS[2]),
        ("\u{1f3e6}", LABELS[2]),
        ("\u{645}\u{64a}", LABELS[3]),
        ("\u{431}\u{418}\u{420}\u{416}\u{410}", LABELS[4]),
        ("caf", LABELS[5]),
    ] {
        assert_eq!(suggested(&explorer, query).await, [label], "{query}");
    }
    // The whole label leads to its address, also where another one begins with it.
    let account = lower_hex(node.account(1));
    for query in [LABELS[0].to_owned(), LABELS[0].to_uppercase(), LABELS[0].to_lowercase()] {
        let answer = explorer.client().get_without_following(&format!("/search?q={}", encoded(&query))).await;
        assert_eq!(
            (answer.status, answer.header("location").to_lowercase()),
            (303, format!("/address/{account}")),
            "{query}"
        );
    }
    // No text that only looks like a hash or a number of the right length is one.
    for query in ["\u{4ea4}".repeat(22), format!("0x{}", "\u{fc}".repeat(20)), "\u{661}\u{662}".to_owned()] {
        assert_eq!(suggested(&explorer, &query).await, Vec::<String>::new(), "{query}");
    }
}
