//! Filters of an address's lists. The URL carries them, so that a filtered list can be linked to.

use domain::{Address, BlockNumber, BlockRange, InternalFilter, TransactionFilter, TransferFilter};
use serde::Deserialize;

/// The fields of the form. Users type them, so each may be anything.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FilterFields {
    #[serde(default)]
    direction: Option<String>,
    #[serde(default)]
    counterparty: Option<String>,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    from_block: Option<String>,
    #[serde(default)]
    to_block: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}

/// Valid conditions on the lists of one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListFilter {
    address: Address,
    direction: Option<Direction>,
    counterparty: Option<Address>,
    token: Option<Address>,
    blocks: BlockRange,
}

/// The form with what was entered.
pub(super) struct FilterView {
    pub(super) direction: String,
    pub(super) counterparty: String,
    pub(super) token: String,
    pub(super) from_block: String,
    pub(super) to_block: String,
    /// Only transfers can be filtered by token.
    pub(super) has_token: bool,
    pub(super) is_set: bool,
    pub(super) error: Option<String>,
}

impl FilterFields {
    fn texts(&self) -> [(&'static str, &str); 5] {
        [
            ("direction", text(&self.direction)),
            ("counterparty", text(&self.counterparty)),
            ("token", text(&self.token)),
            ("fromBlock", text(&self.from_block)),
            ("toBlock", text(&self.to_block)),
        ]
    }

    pub(super) fn is_set(&self) -> bool {
        self.texts().iter().any(|(_, text)| !text.is_empty())
    }

    /// For the links of a filtered list: `&direction=in`, and so on.
    pub(super) fn query(&self) -> String {
        let set = self.texts().into_iter().filter(|(_, text)| !text.is_empty());
        set.map(|(name, text)| format!("&{name}={}", crate::view::url_encode(text))).collect()
    }

    /// The filter, or what is wrong about it.
    pub(super) fn parse(&self, address: Address) -> Result<ListFilter, String> {
        let [(_, direction), (_, counterparty), (_, token), (_, from_block), (_, to_block)] = self.texts();
        let direction = match direction {
            "" => None,
            "in" => Some(Direction::In),
            "out" => Some(Direction::Out),
            _ => return Err("The direction is “in” or “out”.".to_owned()),
        };
        let (counterparty, token) = (parse_address(counterparty)?, parse_address(token)?);
        if counterparty.is_some() && direction.is_none() {
            return Err("To filter by the other address, choose whether it is the sender or the receiver.".to_owned());
        }
        let blocks = BlockRange { from: parse_block(from_block)?, to: parse_block(to_block)? };
        Ok(ListFilter { address, direction, counterparty, token, blocks })
    }

    pub(super) fn view(&self, has_token: bool, error: Option<String>) -> FilterView {
        let [direction, counterparty, token, from_block, to_block] = self.texts().map(|(_, text)| text.to_owned());
        FilterView { direction, counterparty, token, from_block, to_block, has_token, is_set: self.is_set(), error }
    }
}

fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default().trim()
}

fn parse_address(text: &str) -> Result<Option<Address>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| "An address is 0x and 40 hexadecimal digits.".to_owned())
}

fn parse_block(text: &str) -> Result<Option<BlockNumber>, String> {
    // As numbers are shown, and copied.
    let digits: String = text.chars().filter(|char| !matches!(char, ',' | ' ' | '\u{a0}' | '\u{202f}')).collect();
    if digits.is_empty() {
        return Ok(None);
    }
    digits.parse().map(Some).map_err(|_| "A block is a whole number.".to_owned())
}

impl ListFilter {
    /// The conditions on the parties: either one, the sender, and the receiver.
    fn parties(&self) -> (Option<Address>, Option<Address>, Option<Address>) {
        match self.direction {
            None => (Some(self.address), None, None),
            Some(Direction::In) => (None, self.counterparty, Some(self.address)),
            Some(Direction::Out) => (None, Some(self.address), self.counterparty),
        }
    }

    pub(super) fn transactions(&self) -> TransactionFilter {
        let (address, from, to) = self.parties();
        TransactionFilter { address, from, to, blocks: self.blocks }
    }

    pub(super) fn transfers(&self) -> TransferFilter {
        let (address, from, to) = self.parties();
        TransferFilter { address, from, to, token: self.token, blocks: self.blocks }
    }

    pub(super) fn internal(&self) -> InternalFilter {
        let (address, from, to) = self.parties();
        InternalFilter { address, from, to, transaction: None, blocks: self.blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Address = Address::repeat_byte(0x11);

    fn fields(direction: &str, counterparty: &str, from_block: &str) -> FilterFields {
        let text = |text: &str| Some(text.to_owned());
        FilterFields {
            direction: text(direction),
            counterparty: text(counterparty),
            from_block: text(from_block),
            ..FilterFields::default()
        }
    }

    #[test]
    fn nothing_entered_is_every_entry_of_the_address() {
        let filter = fields("", " ", "").parse(OWN).unwrap();
        assert_eq!(filter.transactions(), TransactionFilter::touching(OWN));
        assert_eq!(filter.transfers(), TransferFilter::touching(OWN));
        assert_eq!(fields("", "", "").query(), "");
    }

    #[test]
    fn a_direction_names_the_sender_or_the_receiver() {
        let other = Address::repeat_byte(0x22);
        let received = fields("in", &other.to_string(), "1,200").parse(OWN).unwrap().transactions();
        assert_eq!((received.address, received.from, received.to), (None, Some(other), Some(OWN)));
        assert_eq!(received.blocks.from, Some(1_200));
        let sent = fields("out", "", "").parse(OWN).unwrap().internal();
        assert_eq!((sent.address, sent.from, sent.to), (None, Some(OWN), None));
        assert_eq!(fields("in", "", "1,200").query(), "&direction=in&fromBlock=1%2C200");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (fields, word) in [
            (fields("up", "", ""), "direction"),
            (fields("in", "0x12", ""), "40 hexadecimal"),
            (fields("", &OWN.to_string(), ""), "sender or the receiver"),
            (fields("", "", "-1"), "whole number"),
        ] {
            assert!(fields.parse(OWN).unwrap_err().contains(word));
        }
    }
}
