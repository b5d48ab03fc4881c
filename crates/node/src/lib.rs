//! The client of an EVM node: JSON-RPC over HTTP, WebSocket and IPC, checked before it is believed.
