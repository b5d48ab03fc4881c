//! `account.tokentx`, `tokennfttx` and `token1155tx`.

use std::{collections::HashMap, sync::Arc};

use domain::{B256, BlockNumber, TokenKind, Transaction, TransactionDetail, Transfer, TransferFilter};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    params::{MAX_ROWS, PageParams, Params},
    rows::{FunctionNames, Rows, details, method_id, send},
    transactions::up_to,
};
use crate::{app::App, error::DialectError};

/// Transfers whose transactions are requested from the node at a time.
const PART: u32 = 100;
/// Transfers that are read at a time while those of other kinds are skipped.
const SCANNED: u32 = 1_000;

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
    tip: BlockNumber,
    names: FunctionNames,
}

pub(super) async fn list(app: &Arc<App>, kind: TokenKind, params: &Params) -> Result<Answer, Failure> {
    let (address, token) = (params.find_address("address")?, params.find_address("contractaddress")?);
    if address.is_none() && token.is_none() {
        return Err(Failure::text("Error! Missing address or contractaddress"));
    }
    let mut page = params.page(MAX_ROWS)?;
    let tip = app.tip().await?.number;
    let blocks = up_to(params.block_range("startblock", "endblock")?, tip);
    let mut position = 0;
    if let Some(token) = token {
        // The transfers of one token are of one kind, so that the page is found without a scan.
        let known = app.services.chain.find_token(token).await?;
        if known.is_none_or(|known| known.kind != kind) {
            return Err(Failure::empty("No transactions found"));
        }
        position = std::mem::take(&mut page.skip);
    }
    let rows = TransferRows {
        kind,
        filter: TransferFilter { address, token, blocks, ..TransferFilter::default() },
        page,
        position,
        read: Vec::new(),
        is_read: false,
        tip,
        names: FunctionNames::new(Arc::clone(app)),
        app: Arc::clone(app),
    };
    send(app, rows, "No transactions found").await
}

impl Rows for TransferRows {
    async fn next(&mut self) -> Result<Vec<Value>, DialectError> {
        let wanted = self.page.rows.min(PART);
        while self.read.len() < wanted as usize && !self.is_read {
            self.read_more().await?;
        }
        let rest = self.read.split_off(self.read.len().min(wanted as usize));
        let part = std::mem::replace(&mut self.read, rest);
        self.page.rows -= wanted;
        let mut hashes: Vec<B256> = part.iter().map(|transfer| transfer.tx_hash).collect();
        hashes.dedup();
        let mut transactions = HashMap::with_capacity(hashes.len());
        for (hash, detail) in hashes.iter().zip(details(&self.app, &hashes).await?) {
            let found = self.app.services.chain.find_transaction(*hash).await?.ok_or(DialectError::Moved)?;
            transactions.insert(*hash, (found, detail));
        }
        let mut rows = Vec::with_capacity(part.len());
        for transfer in &part {
            let (transaction, detail) = transactions.get(&transfer.tx_hash).ok_or(DialectError::Moved)?;
            rows.push(self.row(transfer, transaction, detail).await?);
        }
        Ok(rows)
    }
}

impl TransferRows {
    async fn read_more(&mut self) -> Result<(), DialectError> {
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

    async fn row(
        &mut self,
        transfer: &Transfer,
        transaction: &Transaction,
        detail: &TransactionDetail,
    ) -> Result<Value, DialectError> {
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
            "gas": detail.gas_limit.to_string(),
            "gasPrice": transaction.gas_price.to_string(),
            "gasUsed": transaction.gas_used.to_string(),
            "cumulativeGasUsed": detail.cumulative_gas_used.map(|gas| gas.to_string()).unwrap_or_default(),
            "input": "deprecated",
            "methodId": method_id(&detail.input),
            "functionName": function,
            "confirmations": self.tip.saturating_sub(transfer.block_number).to_string(),
        });
        let (token_id, value) = (event.token_id.unwrap_or_default().to_string(), event.value.to_string());
        let amount = match self.kind {
            TokenKind::Bep20 => {
                let decimals = transfer.token_decimals.map(|decimals| decimals.to_string()).unwrap_or_default();
                json!({ "value": value, "tokenDecimal": decimals })
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
