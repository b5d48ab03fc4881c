use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{AdditionalProperties, Object, ObjectBuilder, OneOfBuilder, RefOr, Schema, Type, schema::SchemaType},
};

use crate::params::{Entity, FilterKey};

const SOMEONE: &str = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5";

/// What a query asks for: for the document, which tells for each entity what it offers.
#[derive(Debug)]
pub struct QueryRequest;

impl ToSchema for QueryRequest {
    fn name() -> Cow<'static, str> {
        "QueryRequest".into()
    }
}

impl PartialSchema for QueryRequest {
    fn schema() -> RefOr<Schema> {
        let queries = Entity::ALL.map(query_of);
        let one_of = queries.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item);
        one_of.description(Some("What a query asks for. Each entity offers filters of its own.")).build().into()
    }
}

fn query_of(entity: Entity) -> Object {
    let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([entity.name()]));
    let order = optional([Type::String], "`desc` is newest first, and for tokens those with most holders first")
        .enum_values(Some([json!("asc"), json!("desc"), Value::Null]))
        .default(Some("desc".into()))
        .example(Some("desc".into()));
    let limit = optional([Type::Integer], "Entries wanted. More than 100 is served as 100")
        .minimum(Some(1))
        .default(Some(25.into()))
        .example(Some(25.into()));
    let offset = optional([Type::Integer], "Entries to pass over. An offset past the end gives an empty list")
        .minimum(Some(0))
        .default(Some(0.into()))
        .example(Some(0.into()));
    closed()
        .schema_type(Type::Object)
        .title(Some(entity.name()))
        .property("entity", name)
        .required("entity")
        .property("filter", filter_of(entity))
        .property("orderBy", order)
        .property("limit", limit)
        .property("offset", offset)
        .build()
}

fn filter_of(entity: Entity) -> Object {
    let filter = closed()
        .schema_type(SchemaType::from_iter([Type::Object, Type::Null]))
        .description(Some("All conditions that are given must hold"));
    entity.filters().iter().fold(filter, |filter, key| filter.property(key.name(), condition(entity, *key))).build()
}

fn condition(entity: Entity, key: FilterKey) -> Object {
    let address = |description: &str, example: &str| {
        optional([Type::String], description).pattern(Some("^0x[0-9a-fA-F]{40}$")).example(Some(example.into()))
    };
    // A number may also be given as a string of its digits.
    let number = |description: &str, example: u64| {
        optional([Type::Integer, Type::String], description)
            .minimum(Some(0))
            .pattern(Some("^[0-9]+$"))
            .example(Some(example.into()))
    };
    match key {
        FilterKey::Address if entity == Entity::DexTrades => address("The maker", SOMEONE),
        FilterKey::Address => address("Sender or receiver", SOMEONE),
        FilterKey::From => address("The sender", SOMEONE),
        FilterKey::To => address("The receiver", SOMEONE),
        FilterKey::TokenAddress => address("The token", "0x55d398326f99059ff775485246999027b3197955"),
        FilterKey::BlockNumber => number("The block. Together with a range, both hold", 21_000_000),
        FilterKey::BlockFrom => number("The first block wanted", 20_999_000),
        FilterKey::BlockTo => number("The last block wanted", 21_000_000),
        FilterKey::Dex => optional(
            [Type::String],
            "The exchange by name, or `v2-` or `v3-` and its factory's address, in any letter case",
        )
        .pattern(Some("\\S"))
        .example(Some("PancakeSwap v2".into())),
    }
    .build()
}

/// A member that may be left out or null.
fn optional<const N: usize>(types: [Type; N], description: &str) -> ObjectBuilder {
    let types = types.into_iter().chain([Type::Null]);
    ObjectBuilder::new().schema_type(SchemaType::from_iter(types)).description(Some(description))
}

/// An object without members that are not listed.
fn closed() -> ObjectBuilder {
    ObjectBuilder::new().additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}
