//! What the explorer speaks of: blocks, transactions, addresses, pages and the changes a block makes.
