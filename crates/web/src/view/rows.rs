//! Rows of tables that several pages share.

use domain::{B256, Block, Fee, InternalTransaction, TracedRange, Trade, Transaction, Transfer};

use super::{
    AddressLink, Amount, BlockLink, Direction, MethodLabel, Methods, Moment, NftLink, PageNames, TokenLink,
    TransactionLink, grouped, sanitize_name, short,
};

pub(crate) struct BlockRow {
    /// Identifies the row while the page is open.
    pub(crate) key: B256,
    pub(crate) number: BlockLink,
    pub(crate) time: Moment,
    pub(crate) miner: AddressLink,
    pub(crate) tx_count: String,
    pub(crate) gas_used: String,
    /// Percent of the gas limit.
    pub(crate) filled: u64,
    pub(crate) base_fee: Option<Amount>,
}

impl BlockRow {
    pub(crate) fn new(block: &Block, names: &PageNames) -> Self {
        Self {
            key: block.hash,
            number: BlockLink::new(block.number),
            time: Moment::of(block.timestamp),
            miner: names.address(block.miner),
            tx_count: grouped(block.tx_count),
            gas_used: grouped(block.gas_used),
            filled: (block.gas_used.saturating_mul(100)).checked_div(block.gas_limit).unwrap_or_default(),
            base_fee: block.base_fee_per_gas.map(Amount::gas_price),
        }
    }
}

pub(crate) struct TransactionRow {
    pub(crate) key: B256,
    pub(crate) hash: TransactionLink,
    pub(crate) block: BlockLink,
    pub(crate) time: Moment,
    pub(crate) method: MethodLabel,
    pub(crate) direction: Option<Direction>,
    pub(crate) from: AddressLink,
    pub(crate) to: Option<AddressLink>,
    pub(crate) created: Option<AddressLink>,
    pub(crate) value: Amount,
    /// None if it was paid in a token.
    pub(crate) fee: Option<Amount>,
    pub(crate) outcome: &'static str,
}

impl TransactionRow {
    pub(crate) fn new(tx: &Transaction, methods: &Methods, names: &PageNames) -> Self {
        Self {
            key: tx.hash,
            hash: TransactionLink::new(tx.hash),
            block: BlockLink::new(tx.block_number),
            time: Moment::of(tx.timestamp),
            method: methods.label(tx, names.known()),
            direction: names.direction(tx.from, tx.to.or(tx.created)),
            from: names.address(tx.from),
            to: tx.to.map(|to| names.address(to)),
            created: tx.created.map(|created| names.address(created)),
            value: names.coin(tx.value),
            fee: Fee::of(tx, None).currency.is_none().then(|| names.coin(tx.fee())),
            outcome: tx.outcome().name(),
        }
    }
}

pub(crate) struct TransferRow {
    pub(crate) key: String,
    pub(crate) hash: TransactionLink,
    pub(crate) block: BlockLink,
    pub(crate) time: Moment,
    pub(crate) direction: Option<Direction>,
    pub(crate) from: AddressLink,
    pub(crate) to: AddressLink,
    /// None for an NFT.
    pub(crate) amount: Option<Amount>,
    pub(crate) id: Option<NftLink>,
    pub(crate) token: TokenLink,
    pub(crate) kind: &'static str,
    /// The short form of the counterparty that the other address imitates.
    pub(crate) doubt: Option<String>,
}

impl TransferRow {
    pub(crate) fn new(transfer: &Transfer, names: &PageNames) -> Self {
        let event = &transfer.event;
        let is_nft = event.kind == domain::TokenKind::Bep721;
        Self {
            key: format!("{:#x}-{}", transfer.tx_hash, event.log_index),
            hash: TransactionLink::new(transfer.tx_hash),
            block: BlockLink::new(transfer.block_number),
            time: Moment::of(transfer.timestamp),
            direction: names.direction(event.from, Some(event.to)),
            from: names.address(event.from),
            to: names.address(event.to),
            amount: (!is_nft).then(|| Amount::of_token(event.value, transfer.token_decimals)),
            id: event.token_id.map(|id| NftLink::new(event.token, id)),
            token: names.token_if_read(event.token, transfer.token_symbol.as_deref(), transfer.token_name.as_deref()),
            kind: names.token_kind(event.kind),
            doubt: None,
        }
    }
}

/// A call with a value, a creation or a self-destruct inside a transaction.
pub(crate) struct InternalRow {
    pub(crate) key: String,
    pub(crate) hash: TransactionLink,
    pub(crate) block: BlockLink,
    pub(crate) time: Moment,
    pub(crate) kind: &'static str,
    pub(crate) direction: Option<Direction>,
    pub(crate) from: AddressLink,
    /// None for a failed creation.
    pub(crate) to: Option<AddressLink>,
    pub(crate) value: Amount,
    /// Why nothing moved.
    pub(crate) error: Option<String>,
}

impl InternalRow {
    pub(crate) fn new(found: &InternalTransaction, names: &PageNames) -> Self {
        let event = &found.event;
        Self {
            key: format!("{:#x}-{}", found.tx_hash, event.position),
            hash: TransactionLink::new(found.tx_hash),
            block: BlockLink::new(found.block_number),
            time: Moment::of(found.timestamp),
            kind: event.kind.name(),
            direction: names.direction(event.from, event.to),
            from: names.address(event.from),
            to: event.to.map(|to| names.address(to)),
            value: names.coin(event.value),
            error: event.error.as_deref().map(sanitize_name),
        }
    }
}

/// The blocks whose internal transactions are known.
pub(crate) struct TracedRangeView {
    pub(crate) from: BlockLink,
    pub(crate) to: BlockLink,
}

impl From<TracedRange> for TracedRangeView {
    fn from(traced_range: TracedRange) -> Self {
        Self { from: BlockLink::new(traced_range.from), to: BlockLink::new(traced_range.to) }
    }
}

pub(crate) struct TradeRow {
    pub(crate) key: String,
    pub(crate) hash: TransactionLink,
    pub(crate) block: BlockLink,
    pub(crate) time: Moment,
    pub(crate) maker: AddressLink,
    pub(crate) dex: String,
    pub(crate) dex_shown: String,
    pub(crate) amount_in: Amount,
    pub(crate) token_in: TokenLink,
    pub(crate) amount_out: Amount,
    pub(crate) token_out: TokenLink,
}

impl TradeRow {
    pub(crate) fn new(trade: &Trade, names: &PageNames) -> Self {
        let (sold, bought) = (&trade.token_in, &trade.token_out);
        let dex = names.dex(trade);
        Self {
            key: format!("{:#x}-{}", trade.tx_hash, trade.event.log_index),
            hash: TransactionLink::new(trade.tx_hash),
            block: BlockLink::new(trade.block_number),
            time: Moment::of(trade.timestamp),
            maker: names.address(trade.maker),
            dex_shown: shortened(&dex),
            dex,
            amount_in: Amount::of_token(trade.event.amount_in, sold.decimals),
            token_in: names.token_if_read(sold.address, sold.symbol.as_deref(), None),
            amount_out: Amount::of_token(trade.event.amount_out, bought.decimals),
            token_out: names.token_if_read(bought.address, bought.symbol.as_deref(), None),
        }
    }
}

/// Shortens the address in the name of an unnamed exchange.
fn shortened(dex: &str) -> String {
    match dex.split_once("-0x") {
        Some((style, factory)) => format!("{style}-{}", short(&format!("0x{factory}"))),
        None => dex.to_owned(),
    }
}
