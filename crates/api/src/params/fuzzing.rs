use domain::{Address, B256, BlockId, BlockRange, Order};
use serde_json::{Value, json};

use super::{
    FromBody, FromQuery, KeyIdParam, OwnerParams, Paging, Query, QueryBody, Selection, TradeSelection, WebhookIdParam,
    path::FromPathSegment,
};
use crate::{
    fuzzing::refusal::refused,
    wire::{CallRequest, NewKeyRequest, NewWebhookRequest, VerifyRequest, WebhookChangeRequest},
};

/// The largest whole number that every JSON reader keeps exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// The body of a query is refused, or reads as its own canonical form does, and as another parser of JSON reads it.
pub fn query_body(body: &[u8]) {
    let query = match QueryBody::from_json(body) {
        Ok(query) => query,
        Err(error) => return refused(&error),
    };
    assert!((1..=100).contains(&query.window.limit) && query.window.offset <= MAX_EXACT);
    let canonical = canonical(&query).to_string();
    let again = QueryBody::from_json(canonical.as_bytes()).unwrap_or_else(|error| panic!("{canonical}: {error}"));
    assert_eq!(again, query, "{canonical}");
    // Numbers of any length are read here; the other parser has a largest.
    let Ok(read) = serde_json::from_slice::<Value>(body) else { return };
    let entity = read["entity"].as_str().expect("an entity");
    assert_eq!(entity, query.selection.entity().name());
    let ascending = read["orderBy"].as_str() == Some("asc");
    assert_eq!(query.window.order == Order::OldestFirst, ascending);
    if let Some(limit) = read["limit"].as_u64() {
        assert_eq!(u64::from(query.window.limit), limit.min(100));
    }
    if let Some(offset) = read["offset"].as_u64() {
        assert_eq!(query.window.offset, offset.min(MAX_EXACT));
    }
    let sought = |name: &str| read["filter"][name].as_str().map(|text| text.parse::<Address>().expect("an address"));
    let (address, from, to, token) = match &query.selection {
        Selection::Transactions(filter) => (filter.address, filter.from, filter.to, None),
        Selection::TokenTransfers(filter) => (filter.address, filter.from, filter.to, filter.token),
        Selection::DexTrades(filter) => (filter.maker, None, None, None),
        Selection::Logs(filter) => (filter.address, None, None, None),
        Selection::Blocks(_) | Selection::Tokens => (None, None, None, None),
    };
    assert_eq!([address, from, to, token], ["address", "from", "to", "tokenAddress"].map(sought));
}

fn canonical(query: &QueryBody) -> Value {
    let blocks = |range: &BlockRange| json!({ "blockFrom": range.from, "blockTo": range.to });
    let with = |mut filter: Value, members: &[(&str, Option<String>)]| {
        for (name, value) in members {
            filter[*name] = json!(value);
        }
        filter
    };
    let text = |address: &Option<Address>| address.map(|address| format!("{address:#x}"));
    let filter = match &query.selection {
        Selection::Transactions(filter) => with(
            blocks(&filter.blocks),
            &[("address", text(&filter.address)), ("from", text(&filter.from)), ("to", text(&filter.to))],
        ),
        Selection::TokenTransfers(filter) => with(
            blocks(&filter.blocks),
            &[
                ("address", text(&filter.address)),
                ("from", text(&filter.from)),
                ("to", text(&filter.to)),
                ("tokenAddress", text(&filter.token)),
            ],
        ),
        Selection::DexTrades(TradeSelection { maker, dex, blocks: range }) => {
            with(blocks(range), &[("address", text(maker)), ("dex", dex.clone())])
        }
        Selection::Logs(filter) => {
            let topic = |position: usize| filter.topics[position].map(|topic| format!("{topic:#x}"));
            let topics = [("topic0", topic(0)), ("topic1", topic(1)), ("topic2", topic(2)), ("topic3", topic(3))];
            with(with(blocks(&filter.blocks), &[("address", text(&filter.address))]), &topics)
        }
        Selection::Blocks(range) => blocks(range),
        Selection::Tokens => json!({}),
    };
    let order = if query.window.order == Order::OldestFirst { "asc" } else { "desc" };
    json!({
        "entity": query.selection.entity().name(),
        "filter": filter,
        "orderBy": order,
        "limit": query.window.limit,
        "offset": query.window.offset,
    })
}

/// The first byte selects a route, the rest is the body that is sent to it.
pub fn request_body(data: &[u8]) {
    let Some((route, body)) = data.split_first() else { return };
    let read = match route % 5 {
        0 => NewKeyRequest::from_json(body).map(|request| {
            assert!(request.label.chars().count() <= 100 && !request.label.contains(char::is_control));
            assert!(request.timestamp <= MAX_EXACT);
        }),
        1 => NewWebhookRequest::from_json(body).map(|request| {
            assert!(request.event_types.is_none_or(|types| !types.is_empty()));
            let registration = request.registration();
            assert!(!registration.events.is_empty());
        }),
        2 => WebhookChangeRequest::from_json(body).map(|request| {
            assert!(request.event_types.is_none_or(|types| !types.is_empty()));
        }),
        3 => VerifyRequest::from_json(body).map(|request| {
            assert!(request.license.is_none_or(|license| license.len() <= 64 && license.is_ascii()));
            assert!(request.libraries.len() <= 256);
        }),
        _ => CallRequest::from_json(body).map(|request| {
            assert!(request.function_name.chars().count() <= 4_096);
            assert!(request.block_number.is_none_or(|number| number <= MAX_EXACT));
        }),
    };
    match read {
        Ok(()) => unambiguous(body),
        Err(error) => refused(&error),
    }
}

/// What is taken is an object, in which another parser finds no other fields.
fn unambiguous(body: &[u8]) {
    let Ok(read) = serde_json::from_slice::<Value>(body) else { return };
    let members = read.as_object().expect("an object");
    assert!(members.len() <= 16, "{} fields are known to no route", members.len());
}

/// A query string or a path: decoded as browsers encode forms, or refused.
pub fn query_string(raw: &[u8]) {
    let Ok(raw) = std::str::from_utf8(raw) else { return };
    segments(raw);
    let query = match Query::parse(raw) {
        Ok(query) => query,
        Err(error) => return refused(&error),
    };
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(raw.as_bytes()).into_owned().collect();
    for field in ["page", "limit", "address", "owner", "functionName", "args", "from", "blockNumber"] {
        let values: Vec<&str> =
            pairs.iter().filter(|(name, _)| name == field).map(|(_, value)| value.as_str()).collect();
        match (query.find(field), &values[..]) {
            (Ok(found), [] | [_]) => assert_eq!(found, values.first().copied(), "{field}"),
            (Err(error), [_, _, ..]) => refused(&error),
            (found, values) => panic!("{field} is {found:?} here and {values:?} elsewhere"),
        }
    }
    match Paging::from_query(&query) {
        Ok(paging) => {
            assert!((1..=100).contains(&paging.limit()) && (1..=MAX_EXACT).contains(&paging.page()));
            let window = paging.newest_first();
            assert_eq!(window.offset, (paging.page() - 1) * u64::from(paging.limit()));
        }
        Err(error) => refused(&error),
    }
    if let Err(error) = OwnerParams::from_query(&query) {
        refused(&error);
    }
    match CallRequest::from_query(&query) {
        Ok(request) => assert!(request.args.iter().all(|argument| !argument.get().is_empty())),
        Err(error) => refused(&error),
    }
}

/// What stands in paths.
fn segments(segment: &str) {
    match BlockId::from_segment(segment) {
        Ok(BlockId::Number(number)) => {
            assert!(segment.bytes().all(|byte| byte.is_ascii_digit()));
            assert!(
                number == u64::MAX
                    || segment.trim_start_matches('0').is_empty()
                    || segment.ends_with(&(number % 10).to_string())
            );
        }
        Ok(BlockId::Hash(hash)) => assert_eq!(format!("{hash:#x}"), segment.to_ascii_lowercase()),
        Err(error) => refused(&error),
    }
    match Address::from_segment(segment) {
        Ok(address) => assert_eq!(format!("{address:#x}"), segment.to_ascii_lowercase()),
        Err(error) => refused(&error),
    }
    match B256::from_segment(segment) {
        Ok(hash) => assert_eq!(format!("{hash:#x}"), segment.to_ascii_lowercase()),
        Err(error) => refused(&error),
    }
    if let Err(error) = KeyIdParam::from_segment(segment) {
        refused(&error);
    }
    if let Err(error) = WebhookIdParam::from_segment(segment) {
        refused(&error);
    }
}
