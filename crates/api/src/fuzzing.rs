//! What the fuzz targets call: requests made of arbitrary bytes.

pub(crate) mod refusal;

pub use crate::{
    keys::fuzzing::signature,
    params::fuzzing::{query_body, query_string, request_body},
};
