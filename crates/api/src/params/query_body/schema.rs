//! The OpenAPI schema of the body, generated from the tables that parse it.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Discriminator, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, Type,
        schema::{AdditionalProperties, SchemaType},
    },
};

use super::{DEFAULT_LIMIT, Entity, QueryBody, filter_key::FilterKey};

const ADDRESS: &str = "^0x[0-9a-fA-F]{40}$";
const TOPIC: &str = "^0x[0-9a-fA-F]{64}$";
const DIGITS: &str = "^[0-9]+$";
/// Not only spaces.
const NAME: &str = "[^ ]";

impl ToSchema for QueryBody {
    fn name() -> Cow<'static, str> {
        "QueryRequest".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend(Entity::ALL.map(|entity| (schema_name(entity), body_of(entity))));
    }
}

impl PartialSchema for QueryBody {
    fn schema() -> RefOr<Schema> {
        let reference = |entity| Ref::from_schema_name(schema_name(entity));
        let mapping = Entity::ALL.map(|entity| (entity.name(), reference(entity).ref_location));
        let choice = OneOfBuilder::new()
            .description(Some("A query: an entity with its filters, order and page."))
            .discriminator(Some(Discriminator::with_mapping("entity", mapping)));
        Entity::ALL.into_iter().fold(choice, |choice, entity| choice.item(reference(entity))).into()
    }
}

fn schema_name(entity: Entity) -> String {
    let name = match entity {
        Entity::Transactions => "TransactionsQuery",
        Entity::Blocks => "BlocksQuery",
        Entity::Tokens => "TokensQuery",
        Entity::TokenTransfers => "TokenTransfersQuery",
        Entity::DexTrades => "DexTradesQuery",
        Entity::Logs => "LogsQuery",
    };
    name.to_owned()
}

fn body_of(entity: Entity) -> RefOr<Schema> {
    let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([entity.name()]));
    let order = or_null(Type::String)
        .enum_values(Some([json!("asc"), json!("desc"), Value::Null]))
        .default(Some("desc".into()))
        .description(Some(match entity {
            Entity::Tokens => "`desc` is most holders first",
            _ => "`desc` is newest first",
        }));
    let limit = or_null(Type::Integer)
        .minimum(Some(1))
        .default(Some(DEFAULT_LIMIT.into()))
        .examples([DEFAULT_LIMIT])
        .description(Some("Maximum number of entries. More than 100 is treated as 100"));
    let offset = or_null(Type::Integer)
        .minimum(Some(0))
        .default(Some(0.into()))
        .examples([0])
        .description(Some("Entries to skip. An offset past the end gives an empty list"));
    let body = ObjectBuilder::new()
        .description(Some(match entity {
            Entity::Transactions => "Transactions",
            Entity::Blocks => "Blocks",
            Entity::Tokens => "Tokens, ordered by number of holders",
            Entity::TokenTransfers => "Token transfers",
            Entity::DexTrades => "Trades on exchanges",
            Entity::Logs => "Logs of contracts",
        }))
        .property("entity", name)
        .required("entity")
        .property("filter", filter_of(entity))
        .property("orderBy", order)
        .property("limit", limit)
        .property("offset", offset)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    body.into()
}

fn filter_of(entity: Entity) -> ObjectBuilder {
    let filter = or_null(Type::Object)
        .description(Some(match entity {
            Entity::Tokens => "Tokens have no filters",
            _ => "Records match if all given filters match",
        }))
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    let keys = entity.filters().iter();
    keys.fold(filter, |filter, key| filter.property(key.name(), value_of(*key, entity)))
}

fn value_of(key: FilterKey, entity: Entity) -> ObjectBuilder {
    let address = |description: &str, example: &str| {
        or_null(Type::String).pattern(Some(ADDRESS)).description(Some(description)).examples([example])
    };
    let block = |description: &str, example: u64| {
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::Integer, Type::String, Type::Null]))
            .minimum(Some(0))
            .pattern(Some(DIGITS))
            .description(Some(description))
            .examples([example])
    };
    let topic = |description: &str, example: &str| {
        or_null(Type::String).pattern(Some(TOPIC)).description(Some(description)).examples([example])
    };
    const EXAMPLE_TOPIC: &str = "0x00000000000000000000000095222290dd7278aa3ddd389cc1e1d165cc4bafe5";
    const EXAMPLE_ADDRESS: &str = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5";
    match key {
        FilterKey::Address if entity == Entity::DexTrades => address("The maker", EXAMPLE_ADDRESS),
        FilterKey::Address if entity == Entity::Logs => address("The contract that emitted them", EXAMPLE_ADDRESS),
        FilterKey::Address => address("Sender or receiver", EXAMPLE_ADDRESS),
        FilterKey::From => address("The sender", EXAMPLE_ADDRESS),
        FilterKey::To => address("The receiver", EXAMPLE_ADDRESS),
        FilterKey::TokenAddress => address("The token", "0x55d398326f99059ff775485246999027b3197955"),
        FilterKey::BlockNumber => {
            block("The block, as a number or a string of digits. With a range, both must match", 21_000_000)
        }
        FilterKey::BlockFrom => block("The first block, as a number or a string of digits", 20_999_000),
        FilterKey::BlockTo => block("The last block, as a number or a string of digits", 21_000_000),
        FilterKey::Topic0 => topic(
            "The first topic: the hash of the event's signature, unless the event is anonymous",
            "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
        ),
        FilterKey::Topic1 => topic("The second topic", EXAMPLE_TOPIC),
        FilterKey::Topic2 => topic("The third topic", EXAMPLE_TOPIC),
        FilterKey::Topic3 => topic("The fourth topic", EXAMPLE_TOPIC),
        FilterKey::Dex => or_null(Type::String)
            .pattern(Some(NAME))
            .description(Some(
                "The name of the exchange, or `v2-` or `v3-` and the address of its factory, in any letter case",
            ))
            .examples(["PancakeSwap v2"]),
    }
}

/// Null means the same as a missing field.
fn or_null(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([kind, Type::Null]))
}
