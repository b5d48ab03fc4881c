//! The parameters of a request, from its query, a form or a multipart body.

use std::collections::HashMap;

use admission::long_bodies::SHORT_BODY;
use alloy_primitives::{Address, B256, Bytes, hex};
use api::dialect::{BodySlot, Gate};
use axum::{
    body::Body,
    http::{
        HeaderMap,
        header::{CONTENT_LENGTH, CONTENT_TYPE},
        request::Parts as RequestParts,
    },
};
use client_address::Client;
use domain::{BlockRange, Order};
use url::form_urlencoded;

use super::{
    KEY_PREFIX,
    answer::Failure,
    multipart::{MultipartError, Part, Parts},
};

const MAX_FORM: usize = 8 << 20;
/// More than the longest form of any tool, with ten libraries.
const MAX_PARAMS: usize = 64;
const MAX_NAME: usize = 64;
const API_KEY_HEADER: &str = "x-api-key";
const KEY_PARAMETERS: [&[u8]; 2] = [b"apikey", b"api_key"];
/// More than a key has.
const MAX_KEY: usize = 128;
/// Rows of a page of a list.
pub(super) const MAX_ROWS: u32 = 10_000;

/// Parameters by their names in lower case.
#[derive(Debug)]
pub(super) struct Params {
    values: HashMap<String, String>,
    key_header: Option<String>,
}

/// How a form is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormKind {
    UrlEncoded,
    Multipart,
}

impl FormKind {
    pub(super) fn of(content_type: &str) -> Option<Self> {
        match content_type.split(';').next()?.trim().to_ascii_lowercase().as_str() {
            "application/x-www-form-urlencoded" => Some(Self::UrlEncoded),
            "multipart/form-data" => Some(Self::Multipart),
            _ => None,
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageParams {
    /// Rows to skip.
    pub(super) skip: u64,
    pub(super) rows: u32,
    pub(super) order: Order,
}

/// A request as it came, before its form is parsed.
#[derive(Debug)]
pub(super) struct Form {
    query: String,
    key_header: Option<String>,
    content_type: String,
    body: Option<(FormKind, axum::body::Bytes)>,
    /// Of a long body, until it is parsed.
    slot: Option<BodySlot>,
}

impl Form {
    /// Reads the body, as far as the limits of the client allow.
    pub(super) async fn receive(gate: &Gate, client: Client, head: &RequestParts, body: Body) -> Result<Self, Failure> {
        let key_header =
            head.headers.get(API_KEY_HEADER).map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let query = head.uri.query().unwrap_or_default().to_owned();
        let mut form = Self { query, key_header, content_type: content_type.to_owned(), body: None, slot: None };
        if let Some(kind) = FormKind::of(content_type) {
            let may_have_key = form.find_key().is_some();
            let (body, slot) = read_form(gate, client, &head.headers, body, may_have_key).await?;
            (form.body, form.slot) = (Some((kind, body)), slot);
        }
        Ok(form)
    }

    pub(super) fn len(&self) -> usize {
        self.body.as_ref().map_or(0, |(_, body)| body.len())
    }

    pub(super) fn is_long(&self) -> bool {
        self.len() > SHORT_BODY
    }

    /// The API key: from the header, the query, or the form, which is not parsed for it.
    pub(super) fn find_key(&self) -> Option<String> {
        let in_form = || self.body.as_ref().and_then(|(_, body)| find_key_in(body));
        self.key_header.clone().or_else(|| find_key_in(self.query.as_bytes())).or_else(in_form)
    }

    pub(super) fn parse(self) -> Result<Params, Failure> {
        Ok(Params {
            key_header: self.key_header,
            ..Params::parse(self.query.as_bytes(), &self.content_type, self.body)?
        })
    }
}

/// The first key of this service after the name of a parameter for one, however the form is encoded.
fn find_key_in(form: &[u8]) -> Option<String> {
    KEY_PARAMETERS.iter().find_map(|name| {
        memchr::memmem::find_iter(form, name).find_map(|found| {
            // In a multipart body, the rest of the name's line and an empty line come first.
            let after = form.get(found + name.len()..)?;
            let skipped = after.iter().take_while(|byte| b"=\"\r\n ".contains(byte)).count();
            let value = after.get(skipped..)?;
            let length = value.iter().take(MAX_KEY).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
            let key = value.get(..length.count()).and_then(|key| str::from_utf8(key).ok())?;
            (skipped > 0 && key.starts_with(KEY_PREFIX)).then(|| key.to_owned())
        })
    })
}

impl Params {
    /// The parameters of a query and of a form, which prevail.
    pub(super) fn parse(
        query: &[u8],
        content_type: &str,
        form: Option<(FormKind, axum::body::Bytes)>,
    ) -> Result<Self, Failure> {
        let mut values = read_url_encoded(query)?;
        match form {
            Some((FormKind::UrlEncoded, form)) => values.extend(read_url_encoded(&form)?),
            Some((FormKind::Multipart, form)) => values.extend(read_multipart(content_type, &form)?),
            None => {}
        }
        Ok(Self { values, key_header: None })
    }

    /// A parameter that is given and not empty.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// A value that may begin and end with white space, such as source code.
    pub(super) fn find_verbatim(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    pub(super) fn get(&self, name: &str) -> Result<&str, Failure> {
        self.find(name).ok_or_else(|| Failure::text(format!("Error! Missing {name}")))
    }

    pub(super) fn api_key(&self) -> Option<&str> {
        self.key_header.as_deref().or_else(|| self.find("apikey")).or_else(|| self.find("api_key"))
    }

    pub(super) fn find_address(&self, name: &str) -> Result<Option<Address>, Failure> {
        self.find(name).map(|text| parse_address(name, text)).transpose()
    }

    pub(super) fn address(&self, name: &str) -> Result<Address, Failure> {
        parse_address(name, self.get(name)?)
    }

    /// A list of addresses, separated by commas.
    pub(super) fn addresses(&self, name: &str, most: usize) -> Result<Vec<Address>, Failure> {
        let all: Vec<&str> = self.get(name)?.split(',').take(most + 1).collect();
        if all.len() > most {
            return Err(Failure::invalid(name, &format!("has more than {most} addresses")));
        }
        all.into_iter().map(|text| parse_address(name, text.trim())).collect()
    }

    pub(super) fn find_hash(&self, name: &str) -> Result<Option<B256>, Failure> {
        let parse = |text: &str| {
            parse_bytes(text)
                .map(B256::new)
                .ok_or_else(|| Failure::invalid(name, "must be 0x and 64 hexadecimal digits"))
        };
        self.find(name).map(parse).transpose()
    }

    pub(super) fn hash(&self, name: &str) -> Result<B256, Failure> {
        self.get(name)?;
        self.find_hash(name)?.ok_or_else(|| Failure::text(format!("Error! Missing {name}")))
    }

    /// A decimal number, or a hexadecimal one with 0x.
    pub(super) fn find_number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let parse = |text: &str| {
            parse_number(text).ok_or_else(|| Failure::invalid(name, "must be a whole number of at most 64 bits"))
        };
        self.find(name).map(parse).transpose()
    }

    pub(super) fn number(&self, name: &str) -> Result<u64, Failure> {
        self.get(name)?;
        self.find_number(name)?.ok_or_else(|| Failure::text(format!("Error! Missing {name}")))
    }

    /// Bytes in hexadecimal digits, with 0x or without.
    pub(super) fn find_bytes(&self, name: &str) -> Result<Option<Bytes>, Failure> {
        let parse = |text: &str| {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            let bytes = hex::decode(digits).ok().filter(|_| !digits.starts_with("0x"));
            bytes.map(Bytes::from).ok_or_else(|| Failure::invalid(name, "must be an even number of hexadecimal digits"))
        };
        self.find(name).map(parse).transpose()
    }

    /// A boundary of a block range: a number, or the tag of the first block. Other tags are refused: without its boundary, a list
    /// would be that of other blocks.
    fn find_block(&self, name: &str) -> Result<Option<u64>, Failure> {
        match self.find_tag(name).as_deref() {
            Some("earliest") => Ok(Some(0)),
            Some(_) | None => self.find_number(name),
        }
    }

    fn find_tag(&self, name: &str) -> Option<String> {
        self.find(name).map(str::to_ascii_lowercase)
    }

    /// `first` and `last` are the names of the two parameters.
    pub(super) fn block_range(&self, first: &str, last: &str) -> Result<BlockRange, Failure> {
        let to = match self.find_tag(last).as_deref() {
            Some("latest" | "pending") => None,
            _ => self.find_block(last)?,
        };
        Ok(BlockRange { from: self.find_block(first)?, to })
    }

    /// A page of at most `most` rows. Unlike Etherscan's, any page can be requested.
    pub(super) fn page(&self, most: u32) -> Result<PageParams, Failure> {
        // Some tools number pages from 0.
        let page = self.find_number("page")?.unwrap_or(1).max(1);
        let rows = match self.find_number("offset")? {
            // Etherscan's answer to 0 is everything up to the limit.
            None | Some(0) => most,
            Some(rows) => u32::try_from(rows)
                .ok()
                .filter(|rows| *rows <= most)
                .ok_or_else(|| Failure::invalid("offset", &format!("must not be more than {most}")))?,
        };
        let order = match self.find("sort").unwrap_or("asc").to_ascii_lowercase().as_str() {
            "asc" => Order::OldestFirst,
            "desc" => Order::NewestFirst,
            _ => return Err(Failure::invalid("sort", "must be asc or desc")),
        };
        Ok(PageParams { skip: (page - 1).saturating_mul(u64::from(rows)), rows, order })
    }
}

fn add(values: &mut HashMap<String, String>, name: &str, value: String) -> Result<(), Failure> {
    check_name(name)?;
    let name = name.to_ascii_lowercase();
    match values.get(&name) {
        Some(other) if *other != value => return Err(Failure::text(format!("Error! {name} is given more than once"))),
        Some(_) => {}
        None if values.len() >= MAX_PARAMS => {
            return Err(Failure::text(format!("Error! More than {MAX_PARAMS} parameters")));
        }
        None => {
            values.insert(name, value);
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), Failure> {
    if name.len() > MAX_NAME { Err(Failure::text("Error! The name of a parameter is too long")) } else { Ok(()) }
}

/// The body of a form. Its sender is not identified yet: of a client above its limit, only as much is read as may have a key.
async fn read_form(
    gate: &Gate,
    client: Client,
    headers: &HeaderMap,
    body: Body,
    may_have_key: bool,
) -> Result<(axum::body::Bytes, Option<BodySlot>), Failure> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length <= SHORT_BODY) {
        let read = api::dialect::read_body(client, headers, body, SHORT_BODY).await?;
        return Ok((read.bytes, None));
    }
    let Some(slot) = BodySlot::take(client) else {
        return Err(Failure::text(
            "Max rate limit reached: too many forms are being read. Please respect the rate limit",
        ));
    };
    let may_pass = may_have_key || gate.has_room(client, None).await;
    let is_worth_reading = |beginning: &[u8]| may_pass || find_key_in(beginning).is_some();
    match slot.read_body_if(headers, body, MAX_FORM, SHORT_BODY, &is_worth_reading).await? {
        Some(body) => Ok((body, Some(slot))),
        None => Err(Failure::text(
            "Max rate limit reached, please respect the rate limit: without an API key at its beginning, a long form is not read",
        )),
    }
}

fn read_url_encoded(text: &[u8]) -> Result<HashMap<String, String>, Failure> {
    let mut values = HashMap::new();
    for (name, value) in form_urlencoded::parse(text) {
        add(&mut values, &name, value.into_owned())?;
    }
    Ok(values)
}

fn read_multipart(kind: &str, body: &[u8]) -> Result<HashMap<String, String>, Failure> {
    let broken = |error: MultipartError| Failure::text(format!("Error! The multipart body is invalid: {error}"));
    let mut values = HashMap::new();
    for part in Parts::new(kind, body).map_err(broken)? {
        let Part { name, content } = part.map_err(broken)?;
        check_name(&name)?;
        let value = str::from_utf8(content).map_err(|_| Failure::text(format!("Error! {name} is not UTF-8")))?;
        add(&mut values, &name, value.to_owned())?;
    }
    Ok(values)
}

fn parse_address(name: &str, text: &str) -> Result<Address, Failure> {
    parse_bytes(text).map(Address::new).ok_or_else(|| {
        Failure::text(if name == "address" || name == "contractaddress" {
            "Error! Invalid address format".to_owned()
        } else {
            format!("Error! Invalid address format in {name}")
        })
    })
}

fn parse_bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    hex::decode_to_array(Some(digits).filter(|digits| digits.len() == 2 * N)?).ok()
}

pub(super) fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None if !text.bytes().all(|digit| digit.is_ascii_digit()) => None,
        // Tools send 99999999999999999999 for the newest block.
        None => Some(text.parse().unwrap_or(u64::MAX)),
    }
    .filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> Params {
        Params { values: read_url_encoded(query.as_bytes()).unwrap(), key_header: None }
    }

    #[test]
    fn names_are_case_insensitive_and_empty_values_are_missing() {
        let params = params("StartBlock=7&ENDBLOCK=&Address=+");
        assert_eq!(params.find("startblock"), Some("7"));
        assert_eq!((params.find("endblock"), params.find("address")), (None, None));
    }

    #[test]
    fn a_boundary_that_is_not_known_is_refused() {
        let range =
            |query: &str| params(query).block_range("startblock", "endblock").map(|range| (range.from, range.to)).ok();
        assert_eq!(range("startblock=earliest&endblock=latest"), Some((Some(0), None)));
        assert_eq!(range("endblock=0x10"), Some((None, Some(16))));
        for query in
            ["startblock=latest", "startblock=pending", "startblock=safe", "endblock=safe", "endblock=finalized"]
        {
            assert_eq!(range(query), None, "{query}");
        }
    }

    #[test]
    fn any_page_can_be_requested() {
        let page = |query: &str| params(query).page(MAX_ROWS).map(|page| (page.skip, page.rows, page.order)).ok();
        assert_eq!(page(""), Some((0, 10_000, Order::OldestFirst)));
        assert_eq!(page("page=0&offset=10&sort=DESC"), Some((0, 10, Order::NewestFirst)));
        assert_eq!(page("page=3&offset=10000"), Some((20_000, 10_000, Order::OldestFirst)));
        assert_eq!(page("page=18446744073709551615&offset=9"), Some((u64::MAX, 9, Order::OldestFirst)));
        assert_eq!(page("offset=10001"), None);
        assert_eq!(page("page=x"), None);
        assert_eq!(page("sort=up"), None);
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert_eq!(["7", "0x1F", "99999999999999999999"].map(parse_number), [Some(7), Some(31), Some(u64::MAX)]);
        assert_eq!(["", "0x", "-1", "1.0", "0xg", "1e3"].map(parse_number), [None; 6]);
    }

    #[test]
    fn a_block_range_may_have_tags() {
        let range = params("fromblock=earliest&toblock=latest").block_range("fromblock", "toblock").unwrap();
        assert_eq!(range, BlockRange { from: Some(0), to: None });
    }

    #[test]
    fn contradicting_and_too_many_parameters_are_refused() {
        let mut values = HashMap::new();
        add(&mut values, "a", "1".to_owned()).unwrap();
        add(&mut values, "A", "1".to_owned()).unwrap();
        assert!(add(&mut values, "a", "2".to_owned()).is_err());
        assert!((0..1_000_000).any(|number| add(&mut values, &format!("topic{number}"), String::new()).is_err()));
        assert_eq!(values.len(), MAX_PARAMS);
    }

    #[test]
    fn a_key_is_found_without_parsing_the_form() {
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"apikey\"\r\n\r\nexpl_7\r\n--x--";
        for form in ["apikey=expl_7&module=contract", "module=contract&api_key=expl_7", multipart] {
            assert_eq!(find_key_in(form.as_bytes()).as_deref(), Some("expl_7"), "{form}");
        }
        for form in ["", "apikey", "apikey=", "apikey=placeholder", "sourceCode=apikeyexpl_7"] {
            assert_eq!(find_key_in(form.as_bytes()), None, "{form}");
        }
    }

    #[test]
    fn a_multipart_body_is_read_and_a_broken_one_refused() {
        let body = "--x\r\nContent-Disposition: form-data; name=\"sourceCode\"\r\n\r\n contract A {}\n\r\n--x--\r\n";
        let read = read_multipart("multipart/form-data; boundary=x", body.as_bytes()).unwrap();
        assert_eq!(read["sourcecode"], " contract A {}\n");
        for broken in ["", "--x", "--y\r\n\r\n--y--", "--x\r\n\r\nno name\r\n--x--\r\n"] {
            assert!(read_multipart("multipart/form-data; boundary=x", broken.as_bytes()).is_err(), "{broken:?}");
        }
        assert!(read_multipart("multipart/form-data", body.as_bytes()).is_err());
    }
}
