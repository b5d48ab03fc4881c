//! Multipart bodies of forms (RFC 7578) that are in memory.

use memchr::memmem;

const LINE_END: &[u8] = b"\r\n";
/// The limit of RFC 2046.
const MAX_BOUNDARY: usize = 70;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum MultipartError {
    #[error("the content type has no boundary")]
    NoBoundary,
    #[error("a part does not end with the boundary")]
    NoEnd,
    #[error("a part has malformed headers")]
    Headers,
    #[error("a part has no name")]
    NoName,
}

/// The parts of a body, in order.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// The line that separates parts, with the end of the line before.
    delimiter: Vec<u8>,
    /// After the last delimiter; None after the last part.
    rest: Option<&'a [u8]>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) name: String,
    pub(super) content: &'a [u8],
}

impl<'a> Parts<'a> {
    pub(super) fn new(content_type: &str, body: &'a [u8]) -> Result<Self, MultipartError> {
        let boundary =
            parameter(content_type, "boundary").filter(|boundary| (1..=MAX_BOUNDARY).contains(&boundary.len()));
        let delimiter = [LINE_END, b"--", boundary.ok_or(MultipartError::NoBoundary)?.as_bytes()].concat();
        let first = delimiter.strip_prefix(LINE_END).and_then(|first| body.strip_prefix(first));
        // What is before the first delimiter is ignored.
        let rest = first.or_else(|| split(body, &delimiter).map(|(_, rest)| rest)).ok_or(MultipartError::NoEnd)?;
        Ok(Self { delimiter, rest: Some(rest) })
    }

    fn read(&mut self, rest: &'a [u8]) -> Result<Option<Part<'a>>, MultipartError> {
        if rest.starts_with(b"--") {
            return Ok(None);
        }
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let rest = rest.get(blanks..).and_then(|rest| rest.strip_prefix(LINE_END)).ok_or(MultipartError::NoEnd)?;
        let (headers, rest) = split(rest, b"\r\n\r\n").ok_or(MultipartError::Headers)?;
        let (content, rest) = split(rest, &self.delimiter).ok_or(MultipartError::NoEnd)?;
        let headers = str::from_utf8(headers).map_err(|_| MultipartError::Headers)?;
        let name = headers.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case("content-disposition").then(|| parameter(value, "name"))?
        });
        self.rest = Some(rest);
        Ok(Some(Part { name: name.ok_or(MultipartError::NoName)?, content }))
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, MultipartError>;

    /// Nothing comes after an error.
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        self.read(rest).transpose()
    }
}

/// What is before and after a separator.
fn split<'a>(bytes: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (before, rest) = bytes.split_at_checked(memmem::find(bytes, separator)?)?;
    Some((before, rest.get(separator.len()..)?))
}

/// A parameter after the value of a header: `; name=value` or `; name="value"`, in which a backslash quotes a character.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let (_, mut rest) = header.split_once(';')?;
    loop {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim_matches([' ', '\t', ';']);
        let mut value = String::new();
        if let Some(quoted) = after.strip_prefix('"') {
            let mut characters = quoted.chars();
            loop {
                match characters.next()? {
                    '"' => break,
                    '\\' => value.push(characters.next()?),
                    other => value.push(other),
                }
            }
            rest = characters.as_str();
        } else {
            let (bare, after) = after.split_once(';').unwrap_or((after, ""));
            value.push_str(bare.trim());
            rest = after;
        }
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: &str = "multipart/form-data; boundary=x";

    fn read(content_type: &str, body: &str) -> Result<Vec<(String, String)>, MultipartError> {
        let part = |part: Part<'_>| (part.name, String::from_utf8(part.content.to_vec()).unwrap());
        Parts::new(content_type, body.as_bytes())?.map(|read| read.map(part)).collect()
    }

    #[test]
    fn parts_are_read_with_their_names_and_contents() {
        let body = "ignored\r\n--x \t\r\nContent-Type: text/plain\r\ncontent-disposition:form-data;filename=\"a;name=b\"; \
                    name=\"a \\\" b\"\r\n\r\n --x\n--x\r\n \r\n--x\r\nContent-Disposition: form-data; name=c\r\n\r\n\r\n--x--\r\nignored";
        let expected = [("a \" b", " --x\n--x\r\n "), ("c", "")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(read(KIND, body), Ok(expected.clone()));
        let quoted = "Multipart/Form-Data; charset=utf-8; BOUNDARY=\"x\"";
        assert_eq!(read(quoted, body.strip_prefix("ignored\r\n").unwrap()), Ok(expected));
        assert_eq!(read(KIND, "--x--"), Ok(Vec::new()));
    }

    #[test]
    fn malformed_bodies_are_refused() {
        let named = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n";
        let cases = [
            (String::new(), MultipartError::NoEnd),
            ("--x".to_owned(), MultipartError::NoEnd),
            ("--xy\r\n".to_owned(), MultipartError::NoEnd),
            ("--y\r\n\r\n--y--".to_owned(), MultipartError::NoEnd),
            (named.to_owned(), MultipartError::Headers),
            (format!("{named}\r\nvalue"), MultipartError::NoEnd),
            (format!("{named}\r\nvalue\r\n--x"), MultipartError::NoEnd),
            (format!("{named}\r\nvalue\r\n--xy"), MultipartError::NoEnd),
            ("--x\r\nA: b\r\n\r\nvalue\r\n--x--".to_owned(), MultipartError::NoName),
            ("--x\r\nContent-Disposition: form-data; name=\"a\r\n\r\n\r\n--x--".to_owned(), MultipartError::NoName),
        ];
        for (body, error) in cases {
            assert_eq!(read(KIND, &body), Err(error), "{body:?}");
        }
        for kind in ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"x"] {
            assert_eq!(read(kind, "--x--"), Err(MultipartError::NoBoundary), "{kind}");
        }
    }
}
