//! Comparison of the index with the node.

mod blocks;
mod report;

pub(crate) use self::{
    blocks::{check_links, compare, extent},
    report::Report,
};
