//! An EVM chain inside the process, with JSON-RPC and living traffic.
