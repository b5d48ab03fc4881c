//! The default store: an index on the local disk, inside the process.
