/// What to do with an index that an earlier version has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OlderIndex {
    #[default]
    Refuse,
    /// It is emptied, to be filled again. The records are kept.
    Replace,
    /// It stays as it is, and only records can be used. A store whose records and index have one version refuses it.
    Leave,
}
