use domain::{Address, B256, BlockNumber, BlockRange, MAX_TOPICS};

use super::{entity::Entity, filter_key::FilterKey};
use crate::params::{
    address::parse_bytes,
    body_error::BodyError,
    json::{JsonObject, JsonValue},
    whole_number::parse_whole_number,
};

/// The filters of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Conditions {
    pub(super) address: Option<Address>,
    pub(super) from: Option<Address>,
    pub(super) to: Option<Address>,
    pub(super) token: Option<Address>,
    pub(super) dex: Option<String>,
    /// By position.
    pub(super) topics: [Option<B256>; MAX_TOPICS],
    /// Empty if its end is below its start.
    pub(super) blocks: BlockRange,
}

impl Conditions {
    pub(super) fn read(filter: &JsonObject<'_>, entity: Entity) -> Result<Self, BodyError> {
        filter.check_names(&FilterKey::ALL.map(FilterKey::name))?;
        check_offered(filter, entity)?;
        let address = |key| find(filter, key, parse_address, "must be 0x and 40 hexadecimal digits");
        let number = |key| find(filter, key, parse_number, "must be a whole number of at least 0");
        let mut topics = [None; MAX_TOPICS];
        for (topic, key) in topics.iter_mut().zip(FilterKey::TOPICS) {
            *topic = find(filter, key, parse_topic, "must be 0x and 64 hexadecimal digits")?;
        }
        Ok(Self {
            address: address(FilterKey::Address)?,
            from: address(FilterKey::From)?,
            to: address(FilterKey::To)?,
            token: address(FilterKey::TokenAddress)?,
            dex: find(filter, FilterKey::Dex, parse_name, "must be the name of an exchange")?,
            topics,
            blocks: intersect(
                number(FilterKey::BlockNumber)?,
                number(FilterKey::BlockFrom)?,
                number(FilterKey::BlockTo)?,
            ),
        })
    }
}

fn check_offered(filter: &JsonObject<'_>, entity: Entity) -> Result<(), BodyError> {
    let offered = entity.filters();
    let unoffered = FilterKey::ALL.into_iter().find(|key| !offered.contains(key) && filter.contains(key.name()));
    match unoffered {
        None => Ok(()),
        Some(key) => {
            let names: Vec<&str> = offered.iter().map(|key| key.name()).collect();
            let offered = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(BodyError::FilterNotOffered { field: filter.path_of(key.name()), entity: entity.name(), offered })
        }
    }
}

fn find<T>(
    filter: &JsonObject<'_>,
    key: FilterKey,
    parse: impl Fn(JsonValue<'_>) -> Option<T>,
    rule: &'static str,
) -> Result<Option<T>, BodyError> {
    let Some(value) = filter.find(key.name()) else { return Ok(None) };
    parse(value).map(Some).ok_or_else(|| BodyError::invalid(filter.path_of(key.name()), rule))
}

fn parse_address(value: JsonValue<'_>) -> Option<Address> {
    parse_bytes(&value.text()?).map(Address::new)
}

fn parse_topic(value: JsonValue<'_>) -> Option<B256> {
    parse_bytes(&value.text()?).map(B256::new)
}

/// A number, or its digits in a string, for clients that represent large numbers as strings.
fn parse_number(value: JsonValue<'_>) -> Option<BlockNumber> {
    value.whole_number().or_else(|| parse_whole_number(&value.text()?))
}

fn parse_name(value: JsonValue<'_>) -> Option<String> {
    value.text().filter(|name| !name.trim_matches(' ').is_empty())
}

/// The blocks that match both the number and the range.
fn intersect(number: Option<BlockNumber>, from: Option<BlockNumber>, to: Option<BlockNumber>) -> BlockRange {
    BlockRange { from: from.max(number), to: [to, number].into_iter().flatten().min() }
}
