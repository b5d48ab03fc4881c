use super::{
    answer::Failure,
    contract::verification::read_request,
    logs::Topics,
    params::{FormKind, MAX_ROWS, Params},
};

/// Longest refusal: it may quote a part of the request.
const MAX_REFUSAL: usize = 16 << 10;
const BOUNDARY: &str = "multipart/form-data; boundary=x";

/// A form: the first byte is its kind. Whatever it contains, it is read or refused, and so is every parameter.
pub fn dialect_form(data: &[u8]) {
    let Some((kind, form)) = data.split_first() else { return };
    let (kind, content_type) = match kind % 2 {
        0 => (FormKind::UrlEncoded, ""),
        _ => (FormKind::Multipart, BOUNDARY),
    };
    let form = form.to_vec().into();
    match Params::parse(b"module=contract", content_type, Some((kind, form))) {
        Ok(params) => read_every_parameter(&params),
        Err(refusal) => check_refusal(&refusal),
    }
}

fn read_every_parameter(params: &Params) {
    if let Ok(page) = checked(params.page(MAX_ROWS)) {
        assert!((1..=MAX_ROWS).contains(&page.rows), "{page:?}");
    }
    let _ = checked(params.address("address"));
    let _ = checked(params.addresses("address", 20)).map(|addresses| assert!(addresses.len() <= 20));
    let _ = checked(params.hash("txhash"));
    let _ = checked(params.number("blockno"));
    let _ = checked(params.block_range("fromblock", "toblock"));
    let _ = checked(Topics::read(params));
    let _ = checked(read_request(params));
}

fn checked<T>(read: Result<T, Failure>) -> Result<T, Failure> {
    read.inspect_err(check_refusal)
}

fn check_refusal(refusal: &Failure) {
    let length = refusal.result().as_str().map_or(0, str::len);
    assert!((1..=MAX_REFUSAL).contains(&length), "a refusal of {length} bytes");
}
