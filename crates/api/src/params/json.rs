use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::fault::{BodyFault, shown};
use crate::params::whole_number::parse_whole_number;

/// The members of a JSON object, their values as they are written: so no number is too large to be read, and no nesting
/// too deep to be refused.
#[derive(Debug)]
pub(crate) struct JsonObject<'a> {
    /// What comes before a member's name in its path.
    place: &'static str,
    members: Vec<(String, JsonValue<'a>)>,
}

/// A value as it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonValue<'a>(pub(super) &'a str);

impl<'a> JsonObject<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, BodyFault> {
        let not_json = |error: serde_json::Error| BodyFault::NotJson { reason: error.to_string() };
        let whole: &RawValue = serde_json::from_str(text).map_err(not_json)?;
        if !whole.get().starts_with('{') {
            return Err(BodyFault::NotAnObject);
        }
        Self::read(whole.get(), "").map_err(not_json)?.without_repetition()
    }

    /// The object within a member.
    pub(crate) fn find_object(&self, field: &'static str, place: &'static str) -> Result<Option<Self>, BodyFault> {
        let Some(JsonValue(text)) = self.find(field) else { return Ok(None) };
        let fault = || BodyFault::invalid(field, "must be an object");
        if !text.starts_with('{') {
            return Err(fault());
        }
        Self::read(text, place).map_err(|_| fault())?.without_repetition().map(Some)
    }

    fn read(text: &'a str, place: &'static str) -> Result<Self, serde_json::Error> {
        let Members(members) = serde_json::from_str(text)?;
        Ok(Self { place, members })
    }

    /// Given twice it would be read one way here and another way elsewhere: refused.
    fn without_repetition(self) -> Result<Self, BodyFault> {
        let mut names: Vec<&str> = self.members.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(BodyFault::Repeated { field: self.path(pair[0]) }),
            None => Ok(self),
        }
    }

    /// Refuses members that nobody would read.
    pub(crate) fn only(&self, allowed: &[&str]) -> Result<(), BodyFault> {
        match self.members.iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            Some((name, _)) => Err(BodyFault::Unknown { field: self.path(name), allowed: allowed.join(", ") }),
            None => Ok(()),
        }
    }

    /// The value of a member. Null says the same as leaving it out.
    pub(crate) fn find(&self, field: &str) -> Option<JsonValue<'a>> {
        self.members
            .iter()
            .find(|(name, _)| name == field)
            .map(|(_, value)| *value)
            .filter(|JsonValue(text)| *text != "null")
    }

    /// Whether there is such a member, be it null.
    pub(crate) fn names(&self, field: &str) -> bool {
        self.members.iter().any(|(name, _)| name == field)
    }

    /// How a member is named in a problem.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}{}", self.place, shown(name))
    }
}

impl JsonValue<'_> {
    pub(crate) fn text(&self) -> Option<String> {
        self.0.starts_with('"').then(|| serde_json::from_str(self.0).ok())?
    }

    /// A whole number, however it is written: 100, 100.0 and 1e2 are one number. One too large for 64 bits is read as
    /// the largest there is.
    pub(crate) fn whole_number(&self) -> Option<u64> {
        if let Some(number) = parse_whole_number(self.0) {
            return Some(number);
        }
        // Other values than numbers, of which `parse` would take some, do not end in a digit.
        if !self.0.ends_with(|last: char| last.is_ascii_digit()) {
            return None;
        }
        match self.0.parse::<f64>().ok()? {
            number if number < 0.0 => None,
            number if number.is_infinite() => Some(u64::MAX),
            // Also -0, which is no less than 0.
            number if number.fract() == 0.0 => parse_whole_number(&format!("{:.0}", number.abs())),
            _ => None,
        }
    }
}

struct Members<'a>(Vec<(String, JsonValue<'a>)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    members.push((name, JsonValue(value.get())));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
