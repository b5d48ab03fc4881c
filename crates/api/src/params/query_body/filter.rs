use domain::{Address, BlockNumber, BlockRange};

use super::{
    entity::Entity,
    fault::BodyFault,
    json::{JsonObject, JsonValue},
};
use crate::params::{address::parse_bytes, whole_number::parse_whole_number};

/// Everything by which some entity can be filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterKey {
    Address,
    From,
    To,
    BlockNumber,
    BlockFrom,
    BlockTo,
    TokenAddress,
    Dex,
}

impl FilterKey {
    const ALL: [Self; 8] = [
        Self::Address,
        Self::From,
        Self::To,
        Self::BlockNumber,
        Self::BlockFrom,
        Self::BlockTo,
        Self::TokenAddress,
        Self::Dex,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::From => "from",
            Self::To => "to",
            Self::BlockNumber => "blockNumber",
            Self::BlockFrom => "blockFrom",
            Self::BlockTo => "blockTo",
            Self::TokenAddress => "tokenAddress",
            Self::Dex => "dex",
        }
    }
}

/// The conditions of a query, each where it is set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Conditions {
    pub(super) address: Option<Address>,
    pub(super) from: Option<Address>,
    pub(super) to: Option<Address>,
    pub(super) token: Option<Address>,
    pub(super) dex: Option<String>,
    /// No block at all lies in it where its end is below its beginning.
    pub(super) blocks: BlockRange,
}

impl Conditions {
    pub(super) fn read(filter: &JsonObject<'_>, entity: Entity) -> Result<Self, BodyFault> {
        filter.only(&FilterKey::ALL.map(FilterKey::name))?;
        refuse_what_is_not_offered(filter, entity)?;
        let address = |key| find(filter, key, read_address, "must be 0x and 40 hexadecimal digits");
        let number = |key| find(filter, key, read_number, "must be a whole number of at least 0");
        Ok(Self {
            address: address(FilterKey::Address)?,
            from: address(FilterKey::From)?,
            to: address(FilterKey::To)?,
            token: address(FilterKey::TokenAddress)?,
            dex: find(filter, FilterKey::Dex, read_name, "must be the name of an exchange")?,
            blocks: intersect(
                number(FilterKey::BlockNumber)?,
                number(FilterKey::BlockFrom)?,
                number(FilterKey::BlockTo)?,
            ),
        })
    }
}

fn refuse_what_is_not_offered(filter: &JsonObject<'_>, entity: Entity) -> Result<(), BodyFault> {
    let offered = entity.filters();
    let refused = FilterKey::ALL.into_iter().find(|key| !offered.contains(key) && filter.names(key.name()));
    match refused {
        None => Ok(()),
        Some(key) => {
            let names: Vec<&str> = offered.iter().map(|key| key.name()).collect();
            let offered = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(BodyFault::NotOffered { field: filter.path(key.name()), entity: entity.name(), offered })
        }
    }
}

fn find<T>(
    filter: &JsonObject<'_>,
    key: FilterKey,
    read: impl Fn(JsonValue<'_>) -> Option<T>,
    rule: &'static str,
) -> Result<Option<T>, BodyFault> {
    let Some(value) = filter.find(key.name()) else { return Ok(None) };
    read(value).map(Some).ok_or_else(|| BodyFault::invalid(filter.path(key.name()), rule))
}

fn read_address(value: JsonValue<'_>) -> Option<Address> {
    parse_bytes(&value.text()?).map(Address::new)
}

/// A number, or its digits in a string: clients that keep large numbers as text need not turn them back.
fn read_number(value: JsonValue<'_>) -> Option<BlockNumber> {
    value.whole_number().or_else(|| parse_whole_number(&value.text()?))
}

fn read_name(value: JsonValue<'_>) -> Option<String> {
    value.text().filter(|name| !name.trim_matches(' ').is_empty())
}

/// Both the number and the range hold where both are given.
fn intersect(number: Option<BlockNumber>, from: Option<BlockNumber>, to: Option<BlockNumber>) -> BlockRange {
    BlockRange { from: from.max(number), to: [to, number].into_iter().flatten().min() }
}
