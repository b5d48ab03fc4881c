//! What a transaction pays beside its gas, as its type and its receipt say.

use alloy_primitives::{Address, U256};
use domain::{Block, Charges, Payment};

use super::transaction::is_unsigned;
use crate::decode::{RawReceipt, RawTransaction};

/// Gas of one blob.
const GAS_PER_BLOB: u64 = 1 << 17;

/// Types of transactions that pay nothing, whatever price they have: deposits from the chain below and messages of the chain
/// to itself.
const UNPAID: [u64; 4] = [0x64, 0x6a, 0x7e, 0x7f];

/// Types of transactions that were paid on the chain below if they have no price.
const PAID_BELOW: [u64; 2] = [0xfe, 0xff];

/// Why it is not known what a transaction pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownCharge {
    /// The receipt of a transaction with blobs lacks their price.
    BlobPrice,
    /// The currency cannot be read.
    FeeCurrency,
}

pub(super) fn charges(
    tx: &RawTransaction,
    receipt: &RawReceipt,
    gas_price: u128,
    block: &Block,
) -> Result<Charges, UnknownCharge> {
    let payment = payment(tx, gas_price, block).ok_or(UnknownCharge::FeeCurrency)?;
    if payment == Payment::Nothing {
        return Ok(Charges { payment, ..Charges::default() });
    }
    Ok(Charges {
        blob: blob_fee(tx, receipt).ok_or(UnknownCharge::BlobPrice)?,
        l1: receipt.l1_fee.filter(|_| receipt.token_ratio.is_none()).unwrap_or_default().0,
        operator: operator_fee(receipt),
        payment,
    })
}

/// None if it is paid in a currency that cannot be read: it would look like one that is paid in the coin.
fn payment(tx: &RawTransaction, gas_price: u128, block: &Block) -> Option<Payment> {
    let tx_type = tx.tx_type.map_or(0, |tx_type| tx_type.0);
    // BNB Smart Chain and Polygon add transactions of the chain itself to blocks: from the producer, or without a signature.
    let is_of_chain = || tx.from.0 == block.miner || is_unsigned(tx) || PAID_BELOW.contains(&tx_type);
    if UNPAID.contains(&tx_type) || gas_price == 0 && is_of_chain() {
        return Some(Payment::Nothing);
    }
    let Some(currency) = &tx.fee_currency else { return Some(Payment::Coin) };
    match &currency.get()?[..] {
        [] => Some(Payment::Coin),
        bytes => Address::try_from(bytes).ok().map(Payment::Token),
    }
}

/// None if the receipt of a transaction with blobs lacks their price. Receipts of some rollups use the field of blob gas for other
/// things.
fn blob_fee(tx: &RawTransaction, receipt: &RawReceipt) -> Option<U256> {
    let blobs = tx.blob_versioned_hashes.as_ref().map_or(0, Vec::len);
    if blobs == 0 {
        return Some(U256::ZERO);
    }
    let gas = receipt.blob_gas_used.map_or_else(|| GAS_PER_BLOB.saturating_mul(blobs as u64), |gas| gas.0);
    Some(U256::from(receipt.blob_gas_price?.0) * U256::from(gas))
}

fn operator_fee(receipt: &RawReceipt) -> U256 {
    let gas = U256::from(receipt.gas_used.0);
    let scaled = gas.saturating_mul(receipt.operator_fee_scalar.unwrap_or_default().0);
    let scaled = match receipt.da_footprint_gas_scalar {
        Some(_) => scaled.saturating_mul(U256::from(100)),
        None => scaled / U256::from(1_000_000),
    };
    scaled.saturating_add(receipt.operator_fee_constant.unwrap_or_default().0)
}
