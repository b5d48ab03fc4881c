//! Names shown on the pages.

use std::sync::Arc;

use alloy_primitives::address;
use domain::{Address, ChainTokenPrefix, Exchange, TokenKind, Trade, U256};
use enrichment::OperatorNames;

use crate::view::Amount;

/// Addresses that tokens are minted from and burned to.
const COMMON_NAMES: [(Address, &str); 2] =
    [(Address::ZERO, "Null address"), (address!("000000000000000000000000000000000000dEaD"), "Burn address")];

/// Names of addresses, exchanges, token standards, the chain and its coin.
#[derive(Debug, Clone)]
pub struct Names {
    /// Of addresses and exchanges.
    pub operator: Arc<OperatorNames>,
    pub token_prefix: ChainTokenPrefix,
    pub chain: String,
    /// The symbol of the native coin.
    pub coin: String,
}

impl Names {
    /// The label of an address, or the common name of one that nobody controls.
    pub(crate) fn label(&self, address: &Address) -> Option<String> {
        let common = || COMMON_NAMES.iter().find(|(known, _)| known == address).map(|(_, name)| *name);
        self.operator.labels().find(address).or_else(common).map(str::to_owned)
    }

    pub(crate) fn coin(&self, wei: U256) -> Amount {
        Amount::coin(wei, &self.coin)
    }

    pub(crate) fn token_kind(&self, kind: TokenKind) -> &'static str {
        self.token_prefix.get().name(kind)
    }

    pub(crate) fn dex(&self, trade: &Trade) -> String {
        let exchange = Exchange { style: trade.pool.style, factory: trade.pool.factory };
        self.operator.dexes().name(exchange).into_owned()
    }
}
