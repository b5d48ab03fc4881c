use domain::B256;
use serde_json::{Value, json};

use super::*;

const ALICE: &str = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045";
const BOB: &str = "0x00000000219AB540356CBB839CBE05303D7705FA";

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

fn read(text: &str) -> Result<QueryBody, BodyError> {
    QueryBody::read(&JsonObject::parse(text.as_bytes())?)
}

fn selection(body: Value) -> Selection {
    read(&body.to_string()).unwrap_or_else(|error| panic!("{body}: {error}")).selection
}

fn window(body: Value) -> PageRequest {
    read(&body.to_string()).unwrap_or_else(|error| panic!("{body}: {error}")).window
}

/// The invalid field and the message.
fn error(text: &str) -> (Option<String>, String) {
    let error = match read(text) {
        Err(error) => error,
        Ok(body) => panic!("{text} is read as {body:?}"),
    };
    assert_eq!(error.code().status(), 400, "{text}");
    (error.field().map(std::borrow::Cow::into_owned), error.to_string())
}

fn invalid_field(body: Value) -> String {
    error(&body.to_string()).0.unwrap_or_else(|| panic!("{body} has no field"))
}

#[test]
fn an_entity_alone_selects_its_newest_25() {
    for (entity, all) in [
        ("transactions", Selection::Transactions(TransactionFilter::default())),
        ("blocks", Selection::Blocks(BlockRange::ALL)),
        ("tokens", Selection::Tokens),
        ("token_transfers", Selection::TokenTransfers(TransferFilter::default())),
        ("dex_trades", Selection::DexTrades(TradeSelection::default())),
        ("logs", Selection::Logs(LogFilter::default())),
    ] {
        let body = read(&json!({ "entity": entity }).to_string()).unwrap();
        assert_eq!(body, QueryBody { selection: all, window: PageRequest::newest(25) });
        assert_eq!(body.selection.entity().name(), entity);
    }
}

#[test]
fn all_filters_of_transactions_are_parsed() {
    let body = json!({
        "entity": "transactions",
        "filter": { "address": ALICE, "from": BOB, "to": ALICE, "blockFrom": 5, "blockTo": "9" },
    });
    let filter = TransactionFilter {
        address: Some(address(ALICE)),
        from: Some(address(BOB)),
        to: Some(address(ALICE)),
        blocks: BlockRange { from: Some(5), to: Some(9) },
    };
    assert_eq!(selection(body), Selection::Transactions(filter));
}

#[test]
fn all_filters_of_blocks_transfers_and_trades_are_parsed() {
    let blocks = BlockRange { from: Some(5), to: Some(9) };
    assert_eq!(
        selection(json!({ "entity": "blocks", "filter": { "blockFrom": 5, "blockTo": 9 } })),
        Selection::Blocks(blocks)
    );
    assert_eq!(
        selection(json!({
            "entity": "token_transfers",
            "filter": { "address": ALICE, "from": BOB, "to": ALICE, "tokenAddress": BOB, "blockFrom": 5, "blockTo": 9 },
        })),
        Selection::TokenTransfers(TransferFilter {
            address: Some(address(ALICE)),
            from: Some(address(BOB)),
            to: Some(address(ALICE)),
            token: Some(address(BOB)),
            blocks,
        })
    );
    assert_eq!(
        selection(json!({
            "entity": "dex_trades",
            "filter": { "address": ALICE, "dex": "PancakeSwap v2", "blockFrom": 5, "blockTo": 9 },
        })),
        Selection::DexTrades(TradeSelection {
            maker: Some(address(ALICE)),
            dex: Some("PancakeSwap v2".to_owned()),
            blocks,
        })
    );
}

#[test]
fn all_filters_of_logs_are_parsed() {
    let topics = [1, 2, 3, 0xab].map(B256::repeat_byte);
    let text = topics.map(|topic| format!("{topic:#X}").replace("0X", "0x"));
    let body = json!({
        "entity": "logs",
        "filter": {
            "address": ALICE, "topic0": text[0], "topic1": text[1], "topic2": text[2], "topic3": text[3], "blockFrom": 5,
            "blockTo": 9,
        },
    });
    let blocks = BlockRange { from: Some(5), to: Some(9) };
    let filter = LogFilter { address: Some(address(ALICE)), topics: topics.map(Some), blocks };
    assert_eq!(selection(body), Selection::Logs(filter));
    for key in ["topic0", "topic1", "topic2", "topic3"] {
        for value in [json!(""), json!("0x1"), json!(ALICE), json!(&text[0][2..]), json!(1), json!([text[0]])] {
            let (field, detail) = error(&json!({ "entity": "logs", "filter": { key: value } }).to_string());
            assert_eq!(field, Some(format!("filter.{key}")));
            assert_eq!(detail, format!("filter.{key} must be 0x and 64 hexadecimal digits"), "{value}");
        }
    }
}

#[test]
fn a_block_number_and_a_range_are_intersected() {
    let blocks = |filter: Value| match selection(json!({ "entity": "transactions", "filter": filter })) {
        Selection::Transactions(filter) => filter.blocks,
        other => panic!("{other:?}"),
    };
    assert_eq!(blocks(json!({ "blockNumber": 7 })), BlockRange::only(7));
    assert_eq!(blocks(json!({ "blockNumber": 7, "blockFrom": 5, "blockTo": 9 })), BlockRange::only(7));
    assert_eq!(blocks(json!({ "blockNumber": 7, "blockFrom": 5 })), BlockRange::only(7));
    for empty in [
        json!({ "blockNumber": 7, "blockFrom": 8 }),
        json!({ "blockNumber": 7, "blockTo": 6 }),
        json!({ "blockNumber": 7, "blockFrom": 1, "blockTo": 6 }),
        json!({ "blockFrom": 9, "blockTo": 5 }),
    ] {
        let range = blocks(empty.clone());
        assert!(!(0..20).any(|number| range.contains(number)), "{empty}");
    }
}

#[test]
fn a_block_number_may_be_a_number_or_a_string_of_digits() {
    for (written, number) in [
        (json!(0), 0),
        (json!("0"), 0),
        (json!("0017"), 17),
        (json!(17.0), 17),
        (json!(u64::MAX), u64::MAX),
        (json!("18446744073709551616"), u64::MAX),
    ] {
        let body = json!({ "entity": "blocks", "filter": { "blockFrom": written } });
        assert_eq!(selection(body), Selection::Blocks(BlockRange { from: Some(number), to: None }), "{written}");
    }
}

#[test]
fn null_means_the_same_as_a_missing_field() {
    let body = json!({
        "entity": "tokens",
        "filter": null,
        "orderBy": null,
        "limit": null,
        "offset": null,
    });
    assert_eq!(
        read(&body.to_string()).unwrap(),
        QueryBody { selection: Selection::Tokens, window: PageRequest::newest(25) }
    );
    assert_eq!(selection(json!({ "entity": "tokens", "filter": {} })), Selection::Tokens);
    assert_eq!(
        selection(json!({ "entity": "dex_trades", "filter": { "address": null, "dex": null, "blockFrom": null } })),
        Selection::DexTrades(TradeSelection::default())
    );
}

#[test]
fn limit_and_offset_are_clamped() {
    let read = |limit: Value, offset: Value| {
        window(json!({ "entity": "blocks", "limit": limit, "offset": offset, "orderBy": "asc" }))
    };
    let window = |limit, offset| PageRequest { offset, limit, order: Order::OldestFirst };
    assert_eq!(read(json!(1), json!(0)), window(1, 0));
    assert_eq!(read(json!(100), json!(7)), window(100, 7));
    assert_eq!(read(json!(1e2), json!(-0.0)), window(100, 0));
    assert_eq!(read(json!(101), json!(1_000_000_000_u64)), window(100, 1_000_000_000));
    assert_eq!(read(json!(4_294_967_296_u64), json!(u64::MAX)), window(100, 9_007_199_254_740_991));
    assert_eq!(self::window(json!({ "entity": "blocks", "orderBy": "desc" })).order, Order::NewestFirst);
}

#[test]
fn numbers_of_any_length_are_accepted() {
    for offset in ["18446744073709551616", "1e30", "1e999", &"9".repeat(1000)] {
        let body = read(&format!("{{\"entity\":\"blocks\",\"limit\":{offset},\"offset\":{offset}}}")).unwrap();
        assert_eq!((body.window.limit, body.window.offset), (100, 9_007_199_254_740_991), "{offset}");
    }
}

#[test]
fn a_missing_or_unknown_entity_is_rejected_with_the_known_ones() {
    for body in [
        json!({}),
        json!({ "entity": null }),
        json!({ "entity": "" }),
        json!({ "entity": "Blocks" }),
        json!({ "entity": "blocks " }),
        json!({ "entity": "tokenTransfers" }),
        json!({ "entity": 1 }),
        json!({ "entity": ["blocks"] }),
        json!({ "entity": { "blocks": {} } }),
    ] {
        let (field, detail) = error(&body.to_string());
        assert_eq!(field.as_deref(), Some("entity"), "{body}");
        assert_eq!(
            detail, "entity must be one of transactions, blocks, tokens, token_transfers, dex_trades, logs",
            "{body}"
        );
    }
}

#[test]
fn an_unknown_field_is_rejected_with_the_known_ones() {
    let (field, detail) = error(r#"{"entity":"blocks","order":"asc"}"#);
    assert_eq!(field.as_deref(), Some("order"));
    assert_eq!(detail, "order is not known; allowed are entity, filter, orderBy, limit, offset");
    for name in ["Entity", "page", "", "filter.address", "__proto__"] {
        assert_eq!(invalid_field(json!({ "entity": "blocks", name: null })), name);
    }
}

#[test]
fn an_unknown_filter_is_rejected_with_the_known_ones() {
    let (field, detail) = error(r#"{"entity":"blocks","filter":{"miner":"0x"}}"#);
    assert_eq!(field.as_deref(), Some("filter.miner"));
    assert_eq!(
        detail,
        "filter.miner is not known; allowed are address, from, to, blockNumber, blockFrom, blockTo, tokenAddress, dex, \
         topic0, topic1, topic2, topic3"
    );
    assert_eq!(invalid_field(json!({ "entity": "blocks", "filter": { "Address": null } })), "filter.Address");
}

#[test]
fn a_filter_that_the_entity_does_not_offer_is_rejected_with_the_offered_ones() {
    let (field, detail) = error(r#"{"entity":"blocks","filter":{"blockNumber":1}}"#);
    assert_eq!(field.as_deref(), Some("filter.blockNumber"));
    assert_eq!(detail, "filter.blockNumber is not offered for blocks; offered are blockFrom, blockTo");
    let (_, detail) = error(r#"{"entity":"tokens","filter":{"address":null}}"#);
    assert_eq!(detail, "filter.address is not offered for tokens; offered are none");

    let all =
        ["address", "from", "to", "blockNumber", "blockFrom", "blockTo", "tokenAddress", "dex", "topic0", "topic3"];
    let topic = B256::repeat_byte(1).to_string();
    for (entity, offered) in [
        ("transactions", &["address", "from", "to", "blockNumber", "blockFrom", "blockTo"][..]),
        ("blocks", &["blockFrom", "blockTo"]),
        ("tokens", &[]),
        ("token_transfers", &["address", "from", "to", "tokenAddress", "blockFrom", "blockTo"]),
        ("dex_trades", &["address", "dex", "blockFrom", "blockTo"]),
        ("logs", &["address", "topic0", "topic3", "blockFrom", "blockTo"]),
    ] {
        for key in all {
            let value = match key {
                _ if key.starts_with("block") => json!(1),
                _ if key.starts_with("topic") => json!(topic),
                _ => json!(ALICE),
            };
            let body = json!({ "entity": entity, "filter": { key: value } });
            match offered.contains(&key) {
                true => assert!(read(&body.to_string()).is_ok(), "{body}"),
                false => assert_eq!(invalid_field(body), format!("filter.{key}")),
            }
        }
    }
}

#[test]
fn a_filter_that_is_not_an_object_is_rejected() {
    for filter in [json!([]), json!([{ "blockFrom": 1 }]), json!("{}"), json!(1), json!(true)] {
        let (field, detail) = error(&json!({ "entity": "blocks", "filter": filter }).to_string());
        assert_eq!((field.as_deref(), detail.as_str()), (Some("filter"), "filter must be an object"), "{filter}");
    }
}

#[test]
fn a_filter_of_the_wrong_type_is_rejected_by_name() {
    for key in ["address", "from", "to", "tokenAddress"] {
        for value in [
            json!(""),
            json!("0x"),
            json!(&ALICE[2..]),
            json!(format!("{ALICE}0")),
            json!(1),
            json!([ALICE]),
            json!({ "eq": ALICE }),
            json!(true),
        ] {
            let body = json!({ "entity": "token_transfers", "filter": { key: value } });
            let (field, detail) = error(&body.to_string());
            assert_eq!(field, Some(format!("filter.{key}")));
            assert_eq!(detail, format!("filter.{key} must be 0x and 40 hexadecimal digits"), "{value}");
        }
    }
    for key in ["blockNumber", "blockFrom", "blockTo"] {
        for value in [
            json!(-1),
            json!(1.5),
            json!("-1"),
            json!(""),
            json!("1.5"),
            json!("0x10"),
            json!(" 1"),
            json!("latest"),
            json!([1]),
            json!({}),
            json!(false),
        ] {
            let body = json!({ "entity": "transactions", "filter": { key: value } });
            let (field, detail) = error(&body.to_string());
            assert_eq!(field, Some(format!("filter.{key}")));
            assert_eq!(detail, format!("filter.{key} must be a whole number of at least 0"), "{value}");
        }
    }
    for value in [json!(""), json!("  "), json!(2), json!(["Biswap"])] {
        let body = json!({ "entity": "dex_trades", "filter": { "dex": value } });
        assert_eq!(error(&body.to_string()).1, "filter.dex must be the name of an exchange", "{value}");
    }
}

#[test]
fn an_order_other_than_asc_or_desc_is_rejected() {
    for order in [json!("DESC "), json!("DESC"), json!("Asc"), json!(" asc"), json!(""), json!(1), json!(["asc"])] {
        let (field, detail) = error(&json!({ "entity": "blocks", "orderBy": order }).to_string());
        assert_eq!((field.as_deref(), detail.as_str()), (Some("orderBy"), "orderBy must be asc or desc"), "{order}");
    }
}

#[test]
fn an_invalid_limit_or_offset_is_rejected() {
    for value in [json!(-1), json!(-1.0), json!(1.5), json!("10"), json!(""), json!([1]), json!({}), json!(true)] {
        let (field, detail) = error(&json!({ "entity": "blocks", "limit": value }).to_string());
        assert_eq!(field.as_deref(), Some("limit"));
        assert_eq!(detail, "limit must be a whole number of at least 1", "{value}");
        let (field, detail) = error(&json!({ "entity": "blocks", "offset": value }).to_string());
        assert_eq!(field.as_deref(), Some("offset"));
        assert_eq!(detail, "offset must be a whole number of at least 0", "{value}");
    }
    assert_eq!(invalid_field(json!({ "entity": "blocks", "limit": 0 })), "limit");
}

#[test]
fn a_repeated_field_is_rejected_by_name() {
    for (body, field) in [
        (r#"{"entity":"blocks","entity":"tokens"}"#, "entity"),
        (r#"{"entity":"blocks","limit":1,"limit":1}"#, "limit"),
        (r#"{"entity":"blocks","filter":{"blockTo":1,"blockTo":2}}"#, "filter.blockTo"),
    ] {
        let (invalid, detail) = error(body);
        assert_eq!(invalid.as_deref(), Some(field));
        assert_eq!(detail, format!("{field} is given more than once"));
    }
}

#[test]
fn deep_nesting_is_rejected_with_its_field() {
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    for (body, field) in [
        (format!("{{\"entity\":{deep}}}"), "entity"),
        (format!("{{\"entity\":\"blocks\",\"filter\":{deep}}}"), "filter"),
        (format!("{{\"entity\":\"blocks\",\"filter\":{{\"blockTo\":{deep}}}}}"), "filter.blockTo"),
        (format!("{{\"entity\":\"blocks\",\"more\":{deep}}}"), "more"),
    ] {
        assert_eq!(error(&body).0.as_deref(), Some(field));
    }
    assert_eq!(error(&deep), (None, "the body must be a JSON object".to_owned()));
}
