//! The OpenAPI schema of the body, generated from the tables that parse it.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Discriminator, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, Type,
        schema::{AdditionalProperties, RefBuilder, SchemaType},
    },
};

use super::{DEFAULT_LIMIT, Entity, QueryBody, filter_key::FilterKey};

/// Not only spaces.
const NAME: &str = "[^ ]";

impl ToSchema for QueryBody {
    fn name() -> Cow<'static, str> {
        "QueryRequest".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend(Entity::ALL.map(|entity| (schema_name(entity), body_of(entity))));
        schemas.extend(shared().map(|(name, schema)| (name.to_owned(), schema.into())));
    }
}

impl PartialSchema for QueryBody {
    fn schema() -> RefOr<Schema> {
        let reference = |entity| Ref::from_schema_name(schema_name(entity));
        let mapping = Entity::ALL.map(|entity| (entity.name(), reference(entity).ref_location));
        let choice = OneOfBuilder::new().discriminator(Some(Discriminator::with_mapping("entity", mapping)));
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

const ORDER: &str = "QueryOrder";
const LIMIT: &str = "QueryLimit";
const OFFSET: &str = "QueryOffset";
const ADDRESS: &str = "AddressFilter";
const BLOCK: &str = "BlockFilter";
const TOPIC: &str = "TopicFilter";

/// What several entities have. A default is only here: generators take a field with a default of its own for one that is always
/// there.
fn shared() -> [(&'static str, ObjectBuilder); 6] {
    let order = or_null(Type::String)
        .enum_values(Some([json!("asc"), json!("desc"), Value::Null]))
        .default(Some("desc".into()))
        .description(Some("`desc` is newest first"));
    let limit = or_null(Type::Integer)
        .minimum(Some(1))
        .default(Some(DEFAULT_LIMIT.into()))
        .examples([DEFAULT_LIMIT])
        .description(Some("More than 100 is treated as 100"));
    let offset = or_null(Type::Integer)
        .minimum(Some(0))
        .default(Some(0.into()))
        .examples([0])
        .description(Some("An offset past the end gives an empty list"));
    let address = or_null(Type::String)
        .pattern(Some("^0x[0-9a-fA-F]{40}$"))
        .examples(["0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5"])
        .description(Some("An address in any letter case"));
    let block = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::String, Type::Null]))
        .minimum(Some(0))
        .pattern(Some("^[0-9]+$"))
        .examples([21_000_000])
        .description(Some("A number or a string of digits"));
    let topic = or_null(Type::String)
        .pattern(Some("^0x[0-9a-fA-F]{64}$"))
        .examples(["0x00000000000000000000000095222290dd7278aa3ddd389cc1e1d165cc4bafe5"])
        .description(Some("A topic in any letter case"));
    [(ORDER, order), (LIMIT, limit), (OFFSET, offset), (ADDRESS, address), (BLOCK, block), (TOPIC, topic)]
}

fn body_of(entity: Entity) -> RefOr<Schema> {
    let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([entity.name()]));
    let order = match entity {
        Entity::Tokens => described(ORDER, "`desc` is most holders first"),
        _ => Ref::from_schema_name(ORDER),
    };
    let body = ObjectBuilder::new()
        .property("entity", name)
        .required("entity")
        .property("filter", filter_of(entity))
        .property("orderBy", order)
        .property("limit", Ref::from_schema_name(LIMIT))
        .property("offset", Ref::from_schema_name(OFFSET))
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    body.into()
}

fn filter_of(entity: Entity) -> ObjectBuilder {
    let filter = or_null(Type::Object).additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    let keys = entity.filters().iter();
    keys.fold(filter, |filter, key| filter.property(key.name(), value_of(*key, entity)))
}

fn value_of(key: FilterKey, entity: Entity) -> RefOr<Schema> {
    let (schema, description) = match key {
        FilterKey::Address if entity == Entity::DexTrades => (ADDRESS, "The maker"),
        FilterKey::Address if entity == Entity::Logs => (ADDRESS, "The contract that emitted them"),
        FilterKey::Address => (ADDRESS, "Sender or receiver"),
        FilterKey::BlockNumber => (BLOCK, "With a range, both must match"),
        FilterKey::BlockTo => (BLOCK, "Inclusive"),
        FilterKey::Topic0 => (TOPIC, "The hash of the event's signature, unless the event is anonymous"),
        FilterKey::From | FilterKey::To | FilterKey::TokenAddress => return Ref::from_schema_name(ADDRESS).into(),
        FilterKey::BlockFrom => return Ref::from_schema_name(BLOCK).into(),
        FilterKey::Topic1 | FilterKey::Topic2 | FilterKey::Topic3 => return Ref::from_schema_name(TOPIC).into(),
        FilterKey::Dex => {
            let name = or_null(Type::String)
                .pattern(Some(NAME))
                .description(Some(
                    "The name of the exchange, or `v2-` or `v3-` and the address of its factory, in any letter case",
                ))
                .examples(["PancakeSwap v2"]);
            return name.into();
        }
    };
    described(schema, description).into()
}

fn described(schema: &str, description: &str) -> Ref {
    RefBuilder::new().ref_location_from_schema_name(schema).description(Some(description)).build()
}

/// Null means the same as a missing field.
fn or_null(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([kind, Type::Null]))
}
