//! The node and the calls that it was sent.

use metrics::Text;
use node::{CallEnd, EndpointStatus, NodeClient};

pub(super) fn write(text: &mut Text, node: Option<&NodeClient>) {
    let status = node.map(NodeClient::status);
    let endpoints = named(node.map(NodeClient::endpoints).unwrap_or_default());
    let mut up = text.gauge("explorer_node_up", "Whether a node is used, and not suspended after failures: 1 or 0.");
    for node in &endpoints {
        up.sample(&[("node", &node.name)], node.is_up);
    }
    let mut behind = text.gauge("explorer_node_behind", "Whether a node lags behind another one: 1 or 0.");
    for node in &endpoints {
        behind.sample(&[("node", &node.name)], node.is_behind);
    }
    let mut calls = text.counter("explorer_node_calls_total", "Calls to a node that ended, by method and outcome.");
    for node in &endpoints {
        for (method, metrics) in &node.calls {
            for (end, count) in metrics.ends().filter(|(_, count)| *count > 0) {
                calls.sample(&[("node", &node.name), ("method", method), ("outcome", outcome(end))], count);
            }
        }
    }
    let mut times = text.histogram(
        "explorer_node_call_duration_seconds",
        "Time from a request to a node to its response, by method; a batch of calls counts once.",
    );
    for node in &endpoints {
        for (method, metrics) in node.calls.iter().filter(|(_, metrics)| metrics.latency.count() > 0) {
            times.buckets(&[("node", &node.name), ("method", method)], &metrics.latency);
        }
    }
    let status = status.as_ref();
    text.counter("explorer_node_retries_total", "Calls that were sent again.")
        .value(status.map(|status| status.retries));
    text.counter("explorer_node_rejected_responses_total", "Responses of nodes that failed a check.")
        .value(status.map(|status| status.rejected_responses));
    text.counter("explorer_node_unproven_blocks_total", "Blocks of which a part could not be checked by their hash.")
        .value(status.map(|status| status.unproven_blocks));
    text.gauge("explorer_node_block_rejected", "Whether indexing waits for a valid block: 1 or 0.")
        .value(status.map(|status| status.rejected_block.is_some()));
}

/// With different names: two endpoints on one host have the same name without their secrets.
fn named(mut endpoints: Vec<EndpointStatus>) -> Vec<EndpointStatus> {
    for index in 1..endpoints.len() {
        let (before, rest) = endpoints.split_at_mut(index);
        if let Some(endpoint) = rest.first_mut()
            && before.iter().any(|other| other.name == endpoint.name)
        {
            endpoint.name = format!("{} ({})", endpoint.name, index + 1);
        }
    }
    endpoints
}

fn outcome(end: CallEnd) -> &'static str {
    match end {
        CallEnd::Ok => "ok",
        CallEnd::Rpc => "rpc_error",
        CallEnd::Limited => "rate_limited",
        CallEnd::HttpStatus => "http_error",
        CallEnd::TimedOut => "timeout",
        CallEnd::Unreachable => "unreachable",
        CallEnd::Invalid => "invalid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_with_the_same_name_get_different_names() {
        let endpoint =
            |name: &str| EndpointStatus { name: name.to_owned(), is_up: true, is_behind: false, calls: Vec::new() };
        let named = named(vec![endpoint("http://a"), endpoint("http://b"), endpoint("http://a"), endpoint("http://a")]);
        let names: Vec<&str> = named.iter().map(|endpoint| endpoint.name.as_str()).collect();
        assert_eq!(names, ["http://a", "http://b", "http://a (3)", "http://a (4)"]);
    }
}
