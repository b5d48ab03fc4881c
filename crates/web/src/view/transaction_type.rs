/// The transaction type with its common name.
pub(crate) fn type_name(tx_type: u64) -> String {
    let name = match tx_type {
        0 => "legacy",
        1 => "access list",
        2 => "EIP-1559",
        3 => "blobs",
        4 => "delegation",
        // Arbitrum.
        100 => "deposit",
        101 => "unsigned",
        102 => "contract",
        104 => "retry",
        105 => "submission of a retryable ticket",
        106 => "internal",
        // zkSync.
        113 => "EIP-712",
        254 => "upgrade of the protocol",
        255 => "priority operation",
        // Celo.
        122 => "CIP-66",
        123 => "CIP-64",
        124 => "CIP-42",
        // The OP stack, Scroll and Mantle.
        126 => "deposit",
        // Polygon.
        127 => "state synchronisation",
        _ => return format!("type {tx_type} (unknown)"),
    };
    format!("type {tx_type} ({name})")
}
