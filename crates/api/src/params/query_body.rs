//! The body of a query: an entity, its filters, and a page of the matches.

mod entity;
mod filter;
mod filter_key;
mod schema;
#[cfg(test)]
mod tests;

use domain::{Address, BlockRange, LogFilter, Order, PageRequest, TransactionFilter, TransferFilter};
pub(crate) use entity::Entity;
use filter::Conditions;

use super::{
    FromBody,
    body_error::BodyError,
    json::JsonObject,
    paging::{DEFAULT_LIMIT, MAX_LIMIT},
};
use crate::error::ApiError;

const FIELDS: [&str; 5] = ["entity", "filter", "orderBy", "limit", "offset"];
/// The largest whole number that every JSON parser represents exactly. A larger offset is replaced by it: the page is empty
/// either way.
const MAX_OFFSET: u64 = (1 << 53) - 1;

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryBody {
    pub(crate) selection: Selection,
    pub(crate) window: PageRequest,
}

/// An entity with its filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    Transactions(TransactionFilter),
    Blocks(BlockRange),
    Tokens,
    TokenTransfers(TransferFilter),
    DexTrades(TradeSelection),
    Logs(LogFilter),
}

/// Filters of trades, with the exchange by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TradeSelection {
    pub(crate) maker: Option<Address>,
    pub(crate) dex: Option<String>,
    pub(crate) blocks: BlockRange,
}

impl Selection {
    fn new(entity: Entity, conditions: Conditions) -> Self {
        let Conditions { address, from, to, token, dex, topics, blocks } = conditions;
        match entity {
            Entity::Transactions => Self::Transactions(TransactionFilter { address, from, to, blocks }),
            Entity::Blocks => Self::Blocks(blocks),
            Entity::Tokens => Self::Tokens,
            Entity::TokenTransfers => Self::TokenTransfers(TransferFilter { address, from, to, token, blocks }),
            Entity::DexTrades => Self::DexTrades(TradeSelection { maker: address, dex, blocks }),
            Entity::Logs => Self::Logs(LogFilter { address, topics, blocks }),
        }
    }

    pub(crate) fn entity(&self) -> Entity {
        match self {
            Self::Transactions(_) => Entity::Transactions,
            Self::Blocks(_) => Entity::Blocks,
            Self::Tokens => Entity::Tokens,
            Self::TokenTransfers(_) => Entity::TokenTransfers,
            Self::DexTrades(_) => Entity::DexTrades,
            Self::Logs(_) => Entity::Logs,
        }
    }
}

impl FromBody for QueryBody {
    fn from_json(json: &[u8]) -> Result<Self, ApiError> {
        Ok(Self::read(&JsonObject::parse(json)?)?)
    }
}

impl QueryBody {
    fn read(body: &JsonObject<'_>) -> Result<Self, BodyError> {
        body.check_names(&FIELDS)?;
        let entity = read_entity(body)?;
        let conditions = match body.find_object("filter", "filter.")? {
            Some(filter) => Conditions::read(&filter, entity)?,
            None => Conditions::default(),
        };
        let window = PageRequest { offset: read_offset(body)?, limit: read_limit(body)?, order: read_order(body)? };
        Ok(Self { selection: Selection::new(entity, conditions), window })
    }
}

fn read_entity(body: &JsonObject<'_>) -> Result<Entity, BodyError> {
    body.find("entity")
        .and_then(|value| Entity::parse(&value.text()?))
        .ok_or_else(|| BodyError::invalid("entity", format!("must be one of {}", Entity::names())))
}

fn read_order(body: &JsonObject<'_>) -> Result<Order, BodyError> {
    let Some(value) = body.find("orderBy") else { return Ok(Order::NewestFirst) };
    match value.text().as_deref() {
        Some("desc") => Ok(Order::NewestFirst),
        Some("asc") => Ok(Order::OldestFirst),
        _ => Err(BodyError::invalid("orderBy", "must be asc or desc")),
    }
}

fn read_limit(body: &JsonObject<'_>) -> Result<u32, BodyError> {
    let Some(value) = body.find("limit") else { return Ok(DEFAULT_LIMIT) };
    match value.whole_number() {
        Some(limit) if limit > 0 => Ok(u32::try_from(limit).unwrap_or(MAX_LIMIT).min(MAX_LIMIT)),
        _ => Err(BodyError::invalid("limit", "must be a whole number of at least 1")),
    }
}

fn read_offset(body: &JsonObject<'_>) -> Result<u64, BodyError> {
    let Some(value) = body.find("offset") else { return Ok(0) };
    match value.whole_number() {
        Some(offset) => Ok(offset.min(MAX_OFFSET)),
        None => Err(BodyError::invalid("offset", "must be a whole number of at least 0")),
    }
}
