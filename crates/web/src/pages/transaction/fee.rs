//! What a transaction paid.

use domain::{BlockId, Fee, Payment, Token, Transaction, U256};

use crate::{
    error::PageError,
    state::WebState,
    view::{Amount, PageNames, TokenLink},
};

pub(super) struct FeeView {
    pub(super) total: Amount,
    /// The token in which it was paid; None for the chain's coin.
    pub(super) token: Option<TokenLink>,
    /// Whether nobody paid for its gas.
    pub(super) is_free: bool,
    /// What all of it was spent on; empty if on several things.
    pub(super) whole: &'static str,
    pub(super) parts: Vec<FeePart>,
    pub(super) gas_price: Amount,
    /// Of the block; None if it is not in the unit of the gas price.
    pub(super) base_fee: Option<Amount>,
}

pub(super) struct FeePart {
    pub(super) name: &'static str,
    pub(super) amount: Amount,
    pub(super) note: &'static str,
}

impl FeeView {
    /// None if the block was reverted after the transaction was read: it is not one without a base fee.
    pub(super) async fn read(app: &WebState, tx: &Transaction, names: &PageNames) -> Result<Option<Self>, PageError> {
        let Some(block) = app.chain.find_block(BlockId::Hash(tx.block_hash)).await? else { return Ok(None) };
        let base_fee = block.base_fee_per_gas;
        let token = match Fee::of(tx, base_fee).currency {
            Some(token) => app.chain.find_token(token).await?,
            None => None,
        };
        Ok(Some(Self::new(tx, base_fee, token.as_ref(), names)))
    }

    /// The token is that in which the fee was paid, if it is indexed.
    fn new(tx: &Transaction, base_fee: Option<u128>, token: Option<&Token>, names: &PageNames) -> Self {
        let fee = Fee::of(tx, base_fee);
        let decimals = token.and_then(|token| token.metadata.decimals);
        let amount = |amount: U256| match fee.currency {
            Some(_) => Amount::of_token(amount, decimals),
            None => names.coin(amount),
        };
        let is_free = tx.charges.as_ref().is_some_and(|charges| charges.payment == Payment::Nothing);
        let is_burning = base_fee.is_some() && tx.is_priced();
        let parts = [
            ("Burnt", fee.burnt(), "", is_burning),
            ("Tip", fee.tip(), "for the producer of the block", is_burning),
            ("Blob fee", fee.blob, "part of what was burnt", !fee.blob.is_zero()),
            ("L1 fee", fee.l1, "for publishing it on the chain below", !fee.l1.is_zero()),
            ("Operator fee", fee.operator, "for the operator of the rollup", !fee.operator.is_zero()),
        ];
        // A part that is the whole fee says nothing more.
        let total = fee.total();
        let whole = parts.iter().find(|(_, part, _, is_shown)| *is_shown && *part == total && !total.is_zero());
        let whole = whole.map(|(name, ..)| match *name {
            "Burnt" => "all of it burnt",
            "Tip" => "all of it for the producer of the block",
            _ => "",
        });
        let parts = parts.into_iter().filter(|(_, part, _, is_shown)| *is_shown && whole.is_none() && !part.is_zero());
        Self {
            total: amount(total),
            whole: whole.unwrap_or_default(),
            token: fee.currency.map(|currency| {
                let metadata = token.map(|token| &token.metadata);
                let (symbol, name) = (metadata.map(|known| &known.symbol), metadata.map(|known| &known.name));
                names.token_if_read(currency, symbol.map(String::as_str), name.map(String::as_str))
            }),
            is_free,
            parts: parts
                .map(|(name, part, note, _)| FeePart { name, amount: part_of(amount(part), &amount(total)), note })
                .collect(),
            gas_price: match fee.currency {
                Some(_) => Amount::of_token(tx.gas_price, decimals),
                None => Amount::gas_price(tx.gas_price),
            },
            base_fee: base_fee.filter(|_| fee.currency.is_none()).map(Amount::gas_price),
        }
    }
}

/// A part that looks like the whole in the digits that are shown would be the same number twice.
fn part_of(part: Amount, total: &Amount) -> Amount {
    if part.looks_like(total) { part.in_words("nearly all of it") } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_with_the_digits_of_the_whole_is_shown_in_words_and_exact_on_tap() {
        let total = Amount::of(5_605_010_200_000_u64, 18, "ETH");
        let shown = |part: u64| part_of(Amount::of(part, 18, "ETH"), &total).to_string();
        let nearly = shown(5_605_000_000_000 + 10_100_000);
        assert!(nearly.contains(">nearly all of it<") && nearly.contains("5605010100000"), "{nearly}");
        assert!(!shown(10_200_000).contains("nearly"));
    }
}
