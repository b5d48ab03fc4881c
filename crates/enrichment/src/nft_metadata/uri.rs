//! Where a URI that a contract or a document names leads to.

use base64::{
    Engine,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use percent_encoding::percent_decode_str;
use url::Url;

/// Encoders disagree about padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const MAX_CID_LENGTH: usize = 128;

/// What a URI is expected to lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Document,
    Image,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A URL, which the guard of outgoing connections still has to check.
    Url(String),
    /// The content itself.
    Content(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum UriFault {
    #[error("it is not a URI")]
    NoScheme,
    #[error("URIs that begin with {0}: are not supported")]
    Scheme(String),
    #[error("this explorer has no IPFS gateway")]
    NoGateway,
    #[error("it is not a valid IPFS URI")]
    Ipfs,
    #[error("its data: URI is not of type {0}")]
    DataType(&'static str),
    #[error("its data: URI cannot be decoded")]
    Data,
}

/// A gateway to IPFS: the URL of a host, and possibly a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpfsGateway(Url);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an http(s) URL without a query, such as https://ipfs.example")]
pub struct InvalidGateway;

impl std::str::FromStr for IpfsGateway {
    type Err = InvalidGateway;

    fn from_str(text: &str) -> Result<Self, InvalidGateway> {
        let mut url = Url::parse(text).map_err(|_| InvalidGateway)?;
        let is_plain = url.query().is_none() && url.fragment().is_none() && url.host().is_some();
        if !is_plain || !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidGateway);
        }
        let path = url.path().trim_end_matches('/').trim_end_matches("/ipfs").to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }
}

impl IpfsGateway {
    /// The URL of `ipfs://<path>`. It stays below the folder of the content, whatever the path says.
    fn url(&self, path: &str) -> Result<String, UriFault> {
        let path = path.strip_prefix("ipfs/").unwrap_or(path);
        let cid = path.split(['/', '?', '#']).next().unwrap_or_default();
        if cid.is_empty() || cid.len() > MAX_CID_LENGTH || !cid.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(UriFault::Ipfs);
        }
        let folder = format!("{}/ipfs/{cid}", self.0.as_str().trim_end_matches('/'));
        let url = Url::parse(&format!("{folder}{}", path.get(cid.len()..).unwrap_or_default()));
        let url = String::from(url.map_err(|_| UriFault::Ipfs)?);
        let is_below =
            url.strip_prefix(&folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
        if is_below { Ok(url) } else { Err(UriFault::Ipfs) }
    }
}

pub(super) fn locate(uri: &str, expected: Expected, gateway: Option<&IpfsGateway>) -> Result<Source, UriFault> {
    let uri = uri.trim();
    let (scheme, rest) = uri.split_once(':').ok_or(UriFault::NoScheme)?;
    let is_scheme = scheme.len() <= 16 && scheme.starts_with(|char: char| char.is_ascii_alphabetic());
    if !is_scheme || !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
        return Err(UriFault::NoScheme);
    }
    match scheme.to_ascii_lowercase().as_str() {
        "https" | "http" => Ok(Source::Url(uri.to_owned())),
        "ipfs" => {
            let path = rest.strip_prefix("//").ok_or(UriFault::Ipfs)?;
            gateway.ok_or(UriFault::NoGateway)?.url(path).map(Source::Url)
        }
        "data" => content(rest, expected).map(Source::Content),
        other => Err(UriFault::Scheme(other.to_owned())),
    }
}

/// The content of a `data:` URI of the expected type.
fn content(rest: &str, expected: Expected) -> Result<Vec<u8>, UriFault> {
    let (kind, data) = rest.split_once(',').ok_or(UriFault::Data)?;
    let mut parameters = kind.split(';').map(str::trim);
    let media_type = parameters.next().unwrap_or_default().to_ascii_lowercase();
    let is_expected = match expected {
        Expected::Document => media_type == "application/json",
        Expected::Image => media_type.starts_with("image/"),
    };
    if !is_expected {
        return Err(UriFault::DataType(match expected {
            Expected::Document => "application/json",
            Expected::Image => "image",
        }));
    }
    if parameters.any(|parameter| parameter.eq_ignore_ascii_case("base64")) {
        let text: Vec<u8> = percent_decode_str(data).filter(|byte| !byte.is_ascii_whitespace()).collect();
        return BASE64.decode(text).map_err(|_| UriFault::Data);
    }
    Ok(percent_decode_str(data).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(uri: &str) -> Result<Source, UriFault> {
        locate(uri, Expected::Document, Some(&"https://gateway.example".parse().unwrap()))
    }

    #[test]
    fn data_uris_are_decoded_if_they_have_the_expected_type() {
        let json = Ok(Source::Content(br#"{"a":1}"#.to_vec()));
        for uri in [
            "data:application/json;base64,eyJhIjoxfQ==",
            "data:application/json;base64,eyJhIjoxfQ",
            "DATA:Application/JSON;charset=utf-8;BASE64,eyJhIjoxfQ%3D%3D",
            "data:application/json,%7B%22a%22%3A1%7D",
            r#"data:application/json;utf8,{"a":1}"#,
        ] {
            assert_eq!(document(uri), json, "{uri}");
        }
        for uri in ["data:text/html,<script>", "data:,x", "data:text/html;base64,eyJhIjoxfQ==", "data:image/png,x"] {
            assert_eq!(document(uri), Err(UriFault::DataType("application/json")), "{uri}");
        }
        assert_eq!(document("data:application/json"), Err(UriFault::Data));
        assert_eq!(document("data:application/json;base64,###"), Err(UriFault::Data));
        let image = locate("data:image/png;base64,iVBO", Expected::Image, None);
        assert_eq!(image, Ok(Source::Content(vec![0x89, b'P', b'N'])));
    }

    #[test]
    fn ipfs_uris_lead_below_their_folder_of_the_gateway() {
        let url = |text: &str| Ok(Source::Url(text.to_owned()));
        assert_eq!(document("ipfs://QmHash/7.json"), url("https://gateway.example/ipfs/QmHash/7.json"));
        assert_eq!(document("ipfs://ipfs/QmHash"), url("https://gateway.example/ipfs/QmHash"));
        assert_eq!(document("ipfs://QmHash/a b"), url("https://gateway.example/ipfs/QmHash/a%20b"));
        for uri in [
            "ipfs:QmHash",
            "ipfs://",
            "ipfs://../api/v0/shutdown",
            "ipfs://QmHash/../../api",
            "ipfs://QmHash/%2e%2e/%2E%2e/api",
            "ipfs://QmHash/..",
            "ipfs://Qm Hash",
            "ipfs://@evil.example/x",
        ] {
            assert_eq!(document(uri), Err(UriFault::Ipfs), "{uri}");
        }
        assert_eq!(locate("ipfs://QmHash", Expected::Document, None), Err(UriFault::NoGateway));
        for (given, expected) in [
            ("https://gateway.example/ipfs/", "https://gateway.example/ipfs/QmHash"),
            ("http://127.0.0.1:8080/gate/", "http://127.0.0.1:8080/gate/ipfs/QmHash"),
        ] {
            let found = locate("ipfs://QmHash", Expected::Document, Some(&given.parse().unwrap()));
            assert_eq!(found, url(expected));
        }
        for gateway in ["gateway.example", "ftp://gateway.example", "https://gateway.example/?q=", ""] {
            assert_eq!(gateway.parse::<IpfsGateway>(), Err(InvalidGateway), "{gateway}");
        }
    }

    #[test]
    fn other_uris_are_refused_with_a_reason() {
        for (uri, reason) in [
            ("", "it is not a URI"),
            ("7.json", "it is not a URI"),
            ("{\"a\": 1}", "it is not a URI"),
            ("file:///etc/passwd", "URIs that begin with file: are not supported"),
            ("ar://hash", "URIs that begin with ar: are not supported"),
            ("javascript:alert(1)", "URIs that begin with javascript: are not supported"),
        ] {
            assert_eq!(document(uri).unwrap_err().to_string(), reason, "{uri}");
        }
        assert_eq!(document(" HTTPS://host.example/7 "), Ok(Source::Url("HTTPS://host.example/7".to_owned())));
    }
}
