#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::rpc_flat_trace(data));
