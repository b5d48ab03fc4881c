#[derive(Debug, thiserror::Error)]
#[error("PostgreSQL {required} or later is required, but the server is {version}")]
pub(crate) struct OldServer {
    pub(crate) required: i32,
    pub(crate) version: String,
}
