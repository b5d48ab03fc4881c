//! What the process gets from its system: threads, files and folders, signals.

pub(crate) mod open_files;
pub(crate) mod runtime;
pub(crate) mod shutdown;
pub(crate) mod user_folders;
