/// The names of the fields that are not the same.
pub(crate) fn differing<const FIELDS: usize>(fields: [(&'static str, bool); FIELDS]) -> Vec<&'static str> {
    fields.into_iter().filter(|(_, same)| !same).map(|(field, _)| field).collect()
}
