//! `account.tokentx`, `tokennfttx` and `token1155tx`.

use std::{collections::HashMap, sync::Arc};

use client_address::Client;
use domain::{B256, BlockNumber, TokenKind, Transaction, Transfer, TransferFilter};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    coverage::Asked,
    params::{MAX_ROWS, PageParams, Params},
    rows::{FunctionNames, LongInputs, Rows, method_id, or_empty, send},
    transactions::up_to,
};
use crate::{app::App, error::DialectError};

/// Transfers that are sent at a time.
const PART: u32 = 100;
/// Transfers that are read at a time while those of other kinds are skipped.
const SCANNED: u32 = 1_000;
/// Transfers that a request reads at most, of any kind.
pub(super) const MAX_SCANNED: u32 = 100_000;

struct TransferRows {
    app: Arc<App>,
    kind: TokenKind,
    filter: TransferFilter,
    /// The rest of the page, in transfers of the kind.
    page: PageParams,
    /// The position in the list of all transfers.
    position: u64,
    /// Transfers of the kind that were read but not sent.
    read: Vec<Transfer>,
    is_read: bool,
    /// How many more transfers may be read.
    scans_left: u32,
    tip: BlockNumber,
    inputs: LongInputs,
    names: FunctionNames,
}

/// The list that is asked for, of blocks up to the tip.
pub(super) fn filter(params: &Params, tip: BlockNumber) -> Result<TransferFilter, Failure> {
    let (address, token) = (params.find_address("address")?, params.find_address("contractaddress")?);
    if address.is_none() && token.is_none() {
        return Err(Failure::text("Error! Missing address or contractaddress"));
    }
    let blocks = up_to(params.block_range("startblock", "endblock")?, tip);
    Ok(TransferFilter { address, token, blocks, ..TransferFilter::default() })
}

pub(super) async fn list(app: &Arc<App>, client: Client, kind: TokenKind, params: &Params) -> Result<Answer, Failure> {
    let mut page = params.page(MAX_ROWS)?;
    let tip = app.tip().await?.number;
    let filter = filter(params, tip)?;
    let asked = Asked { from: filter.blocks.from, skip: page.skip };
    let mut position = 0;
    if let Some(token) = filter.token {
        // The transfers of one token are of one kind, so that the page is found without a scan.
        let known = app.services.chain.find_token(token).await?;
        if known.is_none_or(|known| known.kind != kind) {
            return Err(asked.none_found("No transactions found", asked.known_since(app).await?));
        }
        position = std::mem::take(&mut page.skip);
    }
    let rows = TransferRows {
        kind,
        filter,
        page,
        position,
        read: Vec::new(),
        is_read: false,
        scans_left: MAX_SCANNED,
        tip,
        inputs: LongInputs::new(Arc::clone(app), client, page.rows),
        names: FunctionNames::new(Arc::clone(app)),
        app: Arc::clone(app),
    };
    send(app, rows, "No transactions found", asked).await
}

impl Rows for TransferRows {
    async fn next(&mut self) -> Result<Vec<Value>, DialectError> {
        let wanted = self.page.rows.min(PART);
        while self.read.len() < wanted as usize && !self.is_read {
            self.read_more().await?;
            // Others take their turns between the parts of a scan.
            tokio::task::yield_now().await;
        }
        let rest = self.read.split_off(self.read.len().min(wanted as usize));
        let part = std::mem::replace(&mut self.read, rest);
        self.page.rows -= wanted;
        let mut hashes: Vec<B256> = part.iter().map(|transfer| transfer.tx_hash).collect();
        hashes.dedup();
        let mut transactions: HashMap<B256, Transaction> = HashMap::with_capacity(hashes.len());
        for hash in &hashes {
            let found = self.app.services.chain.find_transaction(*hash).await?.ok_or(DialectError::Moved)?;
            transactions.insert(*hash, found);
        }
        // Only of creations: a call has its selector in the index.
        let creations = transactions.values_mut().filter(|transaction| transaction.method.is_none());
        self.inputs.fill(&mut creations.collect::<Vec<_>>()).await?;
        let mut rows = Vec::with_capacity(part.len());
        for transfer in &part {
            let transaction = transactions.get(&transfer.tx_hash).ok_or(DialectError::Moved)?;
            rows.push(self.row(transfer, transaction).await?);
        }
        Ok(rows)
    }
}

impl TransferRows {
    async fn read_more(&mut self) -> Result<(), DialectError> {
        self.scans_left = self.scans_left.checked_sub(SCANNED).ok_or(DialectError::TooManyScanned)?;
        let part = domain::PageRequest { offset: self.position, limit: SCANNED, order: self.page.order };
        let found = self.app.services.chain.list_transfers(&self.filter, part).await?.items;
        self.is_read = found.len() < SCANNED as usize;
        self.position += found.len() as u64;
        for transfer in found.into_iter().filter(|transfer| transfer.event.kind == self.kind) {
            if self.page.skip > 0 {
                self.page.skip -= 1;
            } else {
                self.read.push(transfer);
            }
        }
        Ok(())
    }

    async fn row(&mut self, transfer: &Transfer, transaction: &Transaction) -> Result<Value, DialectError> {
        let function = match (transaction.to, transaction.method) {
            (Some(to), Some(method)) => self.names.find(to, method).await?,
            _ => String::new(),
        };
        let event = &transfer.event;
        let mut row = json!({
            "blockNumber": transfer.block_number.to_string(),
            "timeStamp": transfer.timestamp.to_string(),
            "hash": format!("{:#x}", transfer.tx_hash),
            "nonce": transaction.nonce.to_string(),
            "blockHash": format!("{:#x}", transaction.block_hash),
            "from": format!("{:#x}", event.from),
            "contractAddress": format!("{:#x}", event.token),
            "to": format!("{:#x}", event.to),
            // As in all of its lists, an empty text is what is not known.
            "tokenName": transfer.token_name.as_deref().unwrap_or_default(),
            "tokenSymbol": transfer.token_symbol.as_deref().unwrap_or_default(),
            "transactionIndex": transaction.index.to_string(),
            "logIndex": event.log_index.to_string(),
            "gas": or_empty(transaction.gas_limit),
            "gasPrice": transaction.gas_price.to_string(),
            "gasUsed": transaction.gas_used.to_string(),
            "cumulativeGasUsed": or_empty(transaction.cumulative_gas_used),
            "input": "deprecated",
            "methodId": method_id(transaction),
            "functionName": function,
            "confirmations": self.tip.saturating_sub(transfer.block_number).to_string(),
        });
        let (token_id, value) = (or_empty(event.token_id), event.value.to_string());
        let amount = match self.kind {
            TokenKind::Bep20 => {
                json!({ "value": value, "tokenDecimal": or_empty(transfer.token_decimals) })
            }
            TokenKind::Bep721 => json!({ "tokenID": token_id, "tokenDecimal": "0" }),
            TokenKind::Bep1155 => json!({ "tokenID": token_id, "tokenValue": value }),
        };
        if let (Value::Object(row), Value::Object(amount)) = (&mut row, amount) {
            row.extend(amount);
        }
        Ok(row)
    }
}
