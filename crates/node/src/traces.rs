use crate::NodeError;

/// Nodes without tracing report it in many ways, gateways by HTTP status.
pub(crate) fn lacks_traces(error: &NodeError) -> bool {
    match error {
        NodeError::HttpStatus { status, .. } => (400..500).contains(status) && *status != 408,
        error => error.lacks_method(),
    }
}
