//! Snapshots: copies of a data folder, as a folder or as one file.

pub(crate) mod archive;
pub(crate) mod content;
mod digest;
pub(crate) mod extract;
pub(crate) mod folder;
#[cfg(test)]
mod fuzzing;
mod manifest;
pub(crate) mod unfinished;

pub(crate) use self::{
    archive::{Archive, ArchiveCommand},
    content::Content,
    digest::hex,
    folder::{OF_A_DATABASE, SnapshotCommand, execute},
};
