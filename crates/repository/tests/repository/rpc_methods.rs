//! docs/deployment/nodes.md names every RPC method that the client of nodes can call, and no other.

use std::collections::BTreeSet;

use crate::files::read;

/// The methods of a node among these words.
fn methods<'a>(words: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let namespaces = ["eth_", "debug_", "trace_", "web3_", "net_", "txpool_"];
    words.filter(|word| namespaces.iter().any(|namespace| word.starts_with(namespace))).collect()
}

#[test]
fn the_page_about_nodes_names_every_method_that_is_called() {
    let code = read("crates/node/src/rpc_method.rs");
    let list = code.split_once("\nrpc_methods! {").unwrap().1.split_once("\n}").unwrap().0;
    let called = methods(list.split('"'));
    assert!(called.len() > 20, "{called:?}");

    let page = read("docs/deployment/nodes.md");
    let section = page.split_once("## What is asked of a node").unwrap().1.split("\n## ").next().unwrap();
    assert_eq!(methods(section.split('`')), called, "the page is on the left, rpc_method.rs on the right");
}
