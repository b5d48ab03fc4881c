//! What the document says of the body, made from the tables by which the body is read.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Discriminator, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, Type,
        schema::{AdditionalProperties, SchemaType},
    },
};

use super::{DEFAULT_LIMIT, Entity, QueryBody, filter::FilterKey};

const ADDRESS: &str = "^0x[0-9a-fA-F]{40}$";
const DIGITS: &str = "^[0-9]+$";
/// Of more than spaces.
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
            .description(Some("What a query asks for: an entity, and what goes with it."))
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
        .description(Some("Entries wanted. More than 100 is served as 100"));
    let offset = or_null(Type::Integer)
        .minimum(Some(0))
        .default(Some(0.into()))
        .examples([0])
        .description(Some("Entries to pass over. An offset past the end gives an empty list"));
    let body = ObjectBuilder::new()
        .description(Some(match entity {
            Entity::Transactions => "Transactions",
            Entity::Blocks => "Blocks",
            Entity::Tokens => "Tokens, ordered by how many hold them",
            Entity::TokenTransfers => "Transfers of tokens",
            Entity::DexTrades => "Trades at exchanges",
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
            Entity::Tokens => "Tokens offer no filters",
            _ => "All that are given must hold",
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
    const SOMEONE: &str = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5";
    match key {
        FilterKey::Address if entity == Entity::DexTrades => address("The maker", SOMEONE),
        FilterKey::Address => address("Sender or receiver", SOMEONE),
        FilterKey::From => address("The sender", SOMEONE),
        FilterKey::To => address("The receiver", SOMEONE),
        FilterKey::TokenAddress => address("The token", "0x55d398326f99059ff775485246999027b3197955"),
        FilterKey::BlockNumber => {
            block("The block, a number or its digits. Together with a range, both hold", 21_000_000)
        }
        FilterKey::BlockFrom => block("The first block wanted, a number or its digits", 20_999_000),
        FilterKey::BlockTo => block("The last block wanted, a number or its digits", 21_000_000),
        FilterKey::Dex => or_null(Type::String)
            .pattern(Some(NAME))
            .description(Some("The exchange by name, or `v2-` or `v3-` and its factory's address, in any letter case"))
            .examples(["PancakeSwap v2"]),
    }
}

/// Null says the same as leaving out.
fn or_null(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([kind, Type::Null]))
}
