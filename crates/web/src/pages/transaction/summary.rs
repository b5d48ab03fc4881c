//! What a transaction did, in one line.

use contracts::{abi::AbiJson, decode::Decoded};
use domain::{Address, Authorization, Outcome, Token, TokenKind, Trade, Transaction, Transfer, U256};

use crate::view::{AddressLink, Amount, PageNames, TokenLink, TradeRow};

/// A piece of the line.
pub(super) enum Phrase {
    Text(String),
    Amount(Amount),
    Address(AddressLink),
    Token(TokenLink),
}

/// What the line is derived from.
pub(super) struct SummaryInput<'a> {
    pub(super) tx: &'a Transaction,
    /// The name of the called function.
    pub(super) method: &'a str,
    /// Whether the receiver has no code, so that the input is a message.
    pub(super) is_message: bool,
    pub(super) call: Option<&'a Decoded>,
    /// The called contract, if it is a token.
    pub(super) token: Option<&'a Token>,
    pub(super) transfers: &'a [Transfer],
    pub(super) transfer_count: u64,
    pub(super) trades: &'a [Trade],
    pub(super) trade_count: u64,
    pub(super) authorizations: &'a [Authorization],
    pub(super) names: &'a PageNames,
}

impl SummaryInput<'_> {
    pub(super) fn summary(&self) -> Vec<Phrase> {
        let done = match self.tx.outcome() {
            Outcome::Succeeded => self.swap().or_else(|| self.approval()).or_else(|| self.transfer()),
            Outcome::Failed => Some(self.failed()),
            Outcome::Unknown => Some(self.unknown()),
        };
        let is_bare = done.is_none() && self.tx.value.is_zero() && self.tx.method.is_none();
        if is_bare && let Some(delegations) = self.delegations("Asked") {
            return delegations;
        }
        // Authorizations are valid also if the rest of the transaction fails.
        let mut line = done.unwrap_or_else(|| self.call_or_payment());
        line.extend(self.delegations(", and asked").into_iter().flatten());
        line
    }

    fn failed(&self) -> Vec<Phrase> {
        match (self.tx.to, self.tx.method) {
            (None, _) => vec![text("Failed to create a contract")],
            (Some(to), method) if method.is_none() || self.is_message => {
                vec![text("Failed to send "), self.value(), text(self.with_message()), text(" to "), self.address(to)]
            }
            (Some(to), _) => vec![text(format!("Failed to call {} on ", self.method)), self.address(to)],
        }
    }

    /// Its receipt does not tell whether it succeeded.
    fn unknown(&self) -> Vec<Phrase> {
        let mut line = match (self.tx.to, self.tx.method) {
            (None, _) => vec![text("Meant to create a contract")],
            (Some(to), method) if method.is_none() || self.is_message => {
                vec![text("Meant to send "), self.value(), text(self.with_message()), text(" to "), self.address(to)]
            }
            (Some(to), _) => vec![text(format!("Called {} on ", self.method)), self.address(to)],
        };
        line.push(text(", with an unknown outcome"));
        line
    }

    /// Trades that follow one another are one swap.
    fn swap(&self) -> Option<Vec<Phrase>> {
        let (first, last) = (self.trades.first()?, self.trades.last()?);
        let is_path = self.trades.windows(2).all(|pair| match pair {
            [one, next] => one.token_out.address == next.token_in.address,
            _ => false,
        });
        if self.trade_count != self.trades.len() as u64 || !is_path {
            return Some(vec![text(format!("Made {} trades", self.trade_count))]);
        }
        let (sold, bought) = (TradeRow::new(first, self.names), TradeRow::new(last, self.names));
        let mut line = vec![
            text("Swapped "),
            Phrase::Amount(sold.amount_in),
            text(" "),
            Phrase::Token(sold.token_in),
            text(" for "),
            Phrase::Amount(bought.amount_out),
            text(" "),
            Phrase::Token(bought.token_out),
        ];
        if self.trades.iter().all(|trade| self.names.dex(trade) == sold.dex) {
            line.push(text(format!(" on {}", sold.dex_shown)));
        }
        Some(line)
    }

    fn approval(&self) -> Option<Vec<Phrase>> {
        let (call, token) = (self.call?, self.token?);
        let [to, given] = call.fields.as_slice() else { return None };
        let to: Address = to.value.as_text()?.parse().ok()?;
        let link = self.names.token(token.address, &token.metadata.symbol, &token.metadata.name);
        let (to, link) = (self.address(to), Phrase::Token(link));
        if call.signature == "setApprovalForAll(address,bool)" {
            let verb = if given.value == AbiJson::Bool(true) { "Allowed " } else { "No longer allows " };
            return Some(vec![text(verb), to, text(" to transfer all "), link]);
        }
        if call.signature != "approve(address,uint256)" {
            return None;
        }
        let amount: U256 = given.value.as_text()?.parse().ok()?;
        Some(if token.kind == TokenKind::Bep721 {
            vec![text("Approved "), link, text(format!(" #{amount} for ")), to]
        } else if amount.is_zero() {
            vec![text("Revoked the approval of "), link, text(" for "), to]
        } else if amount.bit(255) {
            vec![text("Approved unlimited "), link, text(" for "), to]
        } else {
            let amount = Phrase::Amount(Amount::of_token(amount, token.metadata.decimals));
            vec![text("Approved "), amount, text(" "), link, text(" for "), to]
        })
    }

    /// A single transfer, and nothing else.
    fn transfer(&self) -> Option<Vec<Phrase>> {
        let [transfer] = self.transfers else { return None };
        let event = &transfer.event;
        let is_mint = event.from.is_zero();
        if self.transfer_count != 1 || (!self.tx.value.is_zero() && !is_mint) {
            return None;
        }
        let mut what = Vec::new();
        if event.kind != TokenKind::Bep721 {
            what.extend([Phrase::Amount(Amount::of_token(event.value, transfer.token_decimals)), text(" ")]);
        }
        what.push(Phrase::Token(self.names.token_if_read(
            event.token,
            transfer.token_symbol.as_deref(),
            transfer.token_name.as_deref(),
        )));
        what.extend(event.token_id.map(|id| text(format!(" #{id}"))));
        let (from, to) = (self.address(event.from), self.address(event.to));
        let mut line = Vec::new();
        if is_mint {
            line.push(text("Minted "));
            line.extend(what);
            line.extend([text(" to "), to]);
            if !self.tx.value.is_zero() {
                line.extend([text(" for "), self.value()]);
            }
        } else if event.to.is_zero() {
            line.push(text("Burned "));
            line.extend(what);
        } else if event.from == self.tx.from {
            line.push(text("Sent "));
            line.extend(what);
            line.extend([text(" to "), to]);
        } else {
            line.push(text("Moved "));
            line.extend(what);
            line.extend([text(" from "), from, text(" to "), to]);
        }
        Some(line)
    }

    /// Accounts that let the code of others run in their place.
    fn delegations(&self, start: &str) -> Option<Vec<Phrase>> {
        let (first, others) = self.authorizations.split_first()?;
        let mut line = match first.signer {
            Some(signer) => vec![text(format!("{start} that ")), self.address(signer)],
            None => vec![text(format!("{start} without a valid signature that an account"))],
        };
        if first.delegate.is_zero() {
            line.push(text(" delegates to nobody any more"));
        } else {
            line.extend([text(" delegates to "), self.address(first.delegate)]);
        }
        match others.len() {
            0 => {}
            1 => line.push(text(", and one more account")),
            more => line.push(text(format!(", and {more} more accounts"))),
        }
        Some(line)
    }

    fn call_or_payment(&self) -> Vec<Phrase> {
        let Some(to) = self.tx.to else {
            return match self.tx.created {
                Some(created) => vec![text("Created the contract "), self.address(created)],
                None => vec![text("Created a contract")],
            };
        };
        if self.is_message && self.tx.value.is_zero() {
            return vec![text("Sent a message to "), self.address(to)];
        }
        if self.tx.method.is_none() || self.is_message {
            return vec![text("Sent "), self.value(), text(self.with_message()), text(" to "), self.address(to)];
        }
        let mut line = vec![text(format!("Called {} on ", self.method)), self.address(to)];
        if !self.tx.value.is_zero() {
            line.extend([text(" with "), self.value()]);
        }
        match self.transfer_count {
            0 => {}
            1 => line.push(text(", with a token transfer")),
            more => line.push(text(format!(", with {more} token transfers"))),
        }
        line
    }

    fn with_message(&self) -> &'static str {
        if self.is_message { " with a message" } else { "" }
    }

    fn value(&self) -> Phrase {
        Phrase::Amount(self.names.coin(self.tx.value))
    }

    fn address(&self, address: Address) -> Phrase {
        Phrase::Address(self.names.address(address))
    }
}

fn text(text: impl Into<String>) -> Phrase {
    Phrase::Text(text.into())
}
