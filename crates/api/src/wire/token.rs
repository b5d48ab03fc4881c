use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub address: Address,
    #[schema(example = "Tether USD")]
    pub name: String,
    #[schema(example = "USDT")]
    pub symbol: String,
    #[schema(example = 18)]
    pub decimals: u8,
    /// BEP20, BEP721 or BEP1155; on a chain whose operator says so, ERC in place of BEP.
    #[serde(rename = "type")]
    #[schema(example = "BEP20")]
    pub kind: String,
    pub total_supply: Decimal,
    /// Addresses with a balance above zero.
    #[schema(example = 5_120)]
    pub holder_count: u64,
}
