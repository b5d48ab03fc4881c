use url::form_urlencoded;

use super::FormFields;

/// The fields of a form are the same if they are written and read again. The first of a name counts.
pub(crate) fn form_fields(form: &[u8]) {
    let FormFields(read) = FormFields::parse(form);
    let written = form_urlencoded::Serializer::new(String::new()).extend_pairs(&read).finish();
    let fields = FormFields::parse(written.as_bytes());
    assert_eq!(fields.0, read);
    let mut names = std::collections::BTreeSet::new();
    for (name, value) in &read {
        if names.insert(name) {
            assert_eq!(fields.raw(name), value);
            assert_eq!(fields.find(name), Some(value.trim()).filter(|text| !text.is_empty()));
        }
    }
}
