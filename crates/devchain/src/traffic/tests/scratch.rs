use serde_json::json;

use super::*;
use crate::trace::Tracer;

#[test]
fn dump() {
    use std::io::Write;
    let history = History::of(1_200, 7);
    let mut out = std::io::BufWriter::new(std::fs::File::create(std::env::var("DUMP").unwrap()).unwrap());
    let mut count = 0;
    for number in 1..=history.chain.head().number {
        let parse = |value| Tracer::Calls(serde_json::from_value(value).unwrap());
        let prestate = |value| Tracer::Prestate(serde_json::from_value(value).unwrap());
        let tracers = [
            parse(json!({})),
            parse(json!({"withLog": true})),
            parse(json!({"onlyTopCall": true})),
            prestate(json!({})),
            prestate(json!({"diffMode": true})),
            prestate(json!({"diffMode": true, "disableCode": true, "disableStorage": true})),
            Tracer::Flat,
        ];
        for (index, tracer) in tracers.into_iter().enumerate() {
            match history.chain.trace_block(number, tracer) {
                Err(error) => writeln!(out, "{number} {index} {error}").unwrap(),
                Ok(traces) => {
                    for (hash, trace) in traces {
                        count += 1;
                        writeln!(out, "{number} {index} {hash} {}", serde_json::to_value(trace).unwrap()).unwrap();
                    }
                }
            }
        }
    }
    println!("{count} traces");
}
