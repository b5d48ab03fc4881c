//! Tokens, their holders and trades in files for spreadsheets.

use domain::{Address, Balance, Token, TokenBalance, Trade};

use super::list_file::{FileRow, known, time};

/// A token in the list of all tokens.
pub(crate) struct TokenLine<'a> {
    pub(crate) token: &'a Token,
    pub(crate) kind: &'static str,
    /// None if it is unknown.
    pub(crate) supply: Option<Balance>,
}

impl FileRow for TokenLine<'_> {
    const COLUMNS: &'static [&'static str] =
        &["token", "symbol", "name", "type", "decimals", "supply", "holders", "transfers"];

    fn fields(&self) -> Vec<String> {
        let Token { metadata, .. } = self.token;
        vec![
            self.token.address.to_string(),
            metadata.symbol.clone(),
            metadata.name.clone(),
            self.kind.to_owned(),
            known(metadata.decimals),
            known(self.supply),
            self.token.holder_count.to_string(),
            self.token.transfer_count.to_string(),
        ]
    }
}

/// A holder of a token.
pub(crate) struct HolderLine {
    pub(crate) rank: u64,
    pub(crate) address: Address,
    pub(crate) balance: Balance,
    /// None if they are unknown.
    pub(crate) decimals: Option<u8>,
    /// Of the supply; None if that is unknown.
    pub(crate) share: Option<String>,
}

impl FileRow for HolderLine {
    const COLUMNS: &'static [&'static str] = &["rank", "holder", "balance", "decimals", "share"];

    fn fields(&self) -> Vec<String> {
        vec![
            self.rank.to_string(),
            self.address.to_string(),
            self.balance.to_string(),
            known(self.decimals),
            self.share.clone().unwrap_or_default(),
        ]
    }
}

impl FileRow for TokenBalance {
    const COLUMNS: &'static [&'static str] = &["token", "symbol", "name", "balance", "decimals"];

    fn fields(&self) -> Vec<String> {
        let metadata = &self.token.metadata;
        vec![
            self.token.address.to_string(),
            metadata.symbol.clone(),
            metadata.name.clone(),
            self.balance.to_string(),
            known(metadata.decimals),
        ]
    }
}

impl FileRow for Trade {
    const COLUMNS: &'static [&'static str] = &[
        "transaction",
        "log",
        "block",
        "time",
        "maker",
        "pool",
        "token_in",
        "symbol_in",
        "amount_in",
        "decimals_in",
        "token_out",
        "symbol_out",
        "amount_out",
        "decimals_out",
    ];

    fn fields(&self) -> Vec<String> {
        let (sold, bought) = (&self.token_in, &self.token_out);
        vec![
            format!("{:#x}", self.tx_hash),
            self.event.log_index.to_string(),
            self.block_number.to_string(),
            time(self.timestamp),
            self.maker.to_string(),
            self.pool.address.to_string(),
            sold.address.to_string(),
            known(sold.symbol.as_deref()),
            self.event.amount_in.to_string(),
            known(sold.decimals),
            bought.address.to_string(),
            known(bought.symbol.as_deref()),
            self.event.amount_out.to_string(),
            known(bought.decimals),
        ]
    }
}
