//! Filters of an address's lists. The URL carries them, so that a filtered list can be linked to.

pub(in crate::pages) mod fuzzing;

use domain::{Address, BlockNumber, BlockRange, DAY, InternalFilter, TransactionFilter, TransferFilter, parse_day};
use serde::Deserialize;
use store::{ChainReader, StoreError, find_first_block_since};

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
    method: Option<String>,
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

/// Where a range begins or ends, as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Block(BlockNumber),
    /// The first second of a day.
    Day(u64),
}

/// Valid conditions, before days are looked up in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedFilter {
    filter: ListFilter,
    from: Option<Bound>,
    to: Option<Bound>,
}

/// Conditions on the lists of one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListFilter {
    address: Address,
    direction: Option<Direction>,
    counterparty: Option<Address>,
    token: Option<Address>,
    blocks: BlockRange,
    /// The name or the selector of the called function, in lower case.
    pub(super) method: Option<String>,
}

/// The form with what was entered.
pub(super) struct FilterView {
    pub(super) direction: String,
    pub(super) counterparty: String,
    pub(super) token: String,
    pub(super) method: String,
    pub(super) from_block: String,
    pub(super) to_block: String,
    pub(super) fields: ListFields,
    pub(super) is_set: bool,
    pub(super) error: Option<String>,
}

/// Which conditions a list has beside those that all have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListFields {
    /// Of transactions.
    Method,
    /// Of transfers.
    Token,
    /// Of internal transactions.
    None,
}

impl FilterFields {
    fn texts(&self) -> [(&'static str, &str); 6] {
        [
            ("direction", text(&self.direction)),
            ("counterparty", text(&self.counterparty)),
            ("token", text(&self.token)),
            ("method", text(&self.method)),
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
    pub(super) fn parse(&self, address: Address) -> Result<ParsedFilter, String> {
        let [(_, direction), (_, counterparty), (_, token), (_, method), (_, from), (_, to)] = self.texts();
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
        let method = Some(method.to_lowercase()).filter(|method| !method.is_empty());
        let filter = ListFilter { address, direction, counterparty, token, method, blocks: BlockRange::ALL };
        Ok(ParsedFilter { filter, from: parse_bound(from)?, to: parse_bound(to)? })
    }

    /// The token alone, or what is wrong about it.
    pub(super) fn token(&self) -> Result<Option<Address>, String> {
        parse_address(text(&self.token))
    }

    pub(super) fn view(&self, fields: ListFields, error: Option<String>) -> FilterView {
        let [direction, counterparty, token, method, from_block, to_block] =
            self.texts().map(|(_, text)| text.to_owned());
        let is_set = self.is_set();
        FilterView { direction, counterparty, token, method, from_block, to_block, fields, is_set, error }
    }
}

impl ParsedFilter {
    /// Looks up the blocks of days.
    pub(super) async fn resolve(self, chain: &dyn ChainReader) -> Result<ListFilter, StoreError> {
        let from = match self.from {
            Some(Bound::Day(start)) => find_first_block_since(chain, start).await?,
            Some(Bound::Block(block)) => Some(block),
            None => None,
        };
        let to = match self.to {
            Some(Bound::Day(start)) => {
                let next = find_first_block_since(chain, start.saturating_add(DAY)).await?;
                match next.map(|next| next.checked_sub(1)) {
                    // Before the first block of the chain: no block is in the range.
                    Some(None) => return Ok(ListFilter { blocks: BlockRange::EMPTY, ..self.filter }),
                    found => found.flatten(),
                }
            }
            Some(Bound::Block(block)) => Some(block),
            None => None,
        };
        Ok(ListFilter { blocks: BlockRange { from, to }, ..self.filter })
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

fn parse_bound(text: &str) -> Result<Option<Bound>, String> {
    if let Some(start) = parse_day(text) {
        return Ok(Some(Bound::Day(start)));
    }
    // As numbers are shown, and copied.
    let digits: String = text.chars().filter(|char| !matches!(char, ',' | ' ' | '\u{a0}' | '\u{202f}')).collect();
    if digits.is_empty() {
        return Ok(None);
    }
    let block = digits.parse().map_err(|_| "A block is a whole number, and a day is written as 2026-11-18.".to_owned());
    block.map(|block| Some(Bound::Block(block)))
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
        let ParsedFilter { filter, from, to } = fields("", " ", "").parse(OWN).unwrap();
        assert_eq!((from, to, &filter.method), (None, None, &None));
        assert_eq!(filter.transactions(), TransactionFilter::touching(OWN));
        assert_eq!(filter.transfers(), TransferFilter::touching(OWN));
        assert_eq!(fields("", "", "").query(), "");
    }

    #[test]
    fn a_direction_names_the_sender_or_the_receiver() {
        let other = Address::repeat_byte(0x22);
        let received = fields("in", &other.to_string(), "1,200").parse(OWN).unwrap();
        assert_eq!(received.from, Some(Bound::Block(1_200)));
        let received = received.filter.transactions();
        assert_eq!((received.address, received.from, received.to), (None, Some(other), Some(OWN)));
        let sent = fields("out", "", "").parse(OWN).unwrap().filter.internal();
        assert_eq!((sent.address, sent.from, sent.to), (None, Some(OWN), None));
        assert_eq!(fields("in", "", "1,200").query(), "&direction=in&fromBlock=1%2C200");
    }

    #[test]
    fn a_range_begins_with_a_block_or_a_day() {
        let from = |text| fields("", "", text).parse(OWN).unwrap().from;
        assert_eq!(from("2026-11-15"), Some(Bound::Day(1_794_700_800)));
        assert_eq!(from("2026"), Some(Bound::Block(2_026)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (fields, word) in [
            (fields("up", "", ""), "direction"),
            (fields("in", "0x12", ""), "40 hexadecimal"),
            (fields("", &OWN.to_string(), ""), "sender or the receiver"),
            (fields("", "", "-1"), "whole number"),
            (fields("", "", "2026-02-30"), "whole number"),
        ] {
            assert!(fields.parse(OWN).unwrap_err().contains(word));
        }
    }
}
