//! DNS messages (RFC 1035), as far as a lookup of addresses needs them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEADER_BYTES: usize = 12;
const MAX_NAME_BYTES: usize = 255;
const MAX_LABEL_BYTES: usize = 63;
const INTERNET: u16 = 1;
/// A standard query that the server answers recursively.
const QUERY_FLAGS: u16 = 0x0100;
const IS_REPLY: u16 = 0x8000;
const OPERATION: u16 = 0x7800;
const IS_TRUNCATED: u16 = 0x0200;
const RESULT: u16 = 0x000f;
const NO_ERROR: u16 = 0;
const NO_SUCH_NAME: u16 = 3;

/// The kind of a record with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    A,
    Aaaa,
}

impl Kind {
    fn number(self) -> u16 {
        match self {
            Self::A => 1,
            Self::Aaaa => 28,
        }
    }

    fn address(self, data: &[u8]) -> Option<IpAddr> {
        match self {
            Self::A => Some(Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?).into()),
            Self::Aaaa => Some(Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?).into()),
        }
    }
}

/// A query for the addresses of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    bytes: Vec<u8>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// None if the name does not exist, or has no address of this kind. They are valid for this time.
    Addresses {
        addresses: Vec<IpAddr>,
        seconds: u32,
    },
    /// Too long for UDP.
    Truncated,
    Failed,
}

impl Query {
    /// None if the name has an empty label, or is too long or has a label that is.
    pub(crate) fn new(number: u16, name: &str, kind: Kind) -> Option<Self> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + name.len() + 6);
        for field in [number, QUERY_FLAGS, 1, 0, 0, 0] {
            bytes.extend(field.to_be_bytes());
        }
        for label in name.split('.') {
            let length = u8::try_from(label.len()).ok().filter(|_| (1..=MAX_LABEL_BYTES).contains(&label.len()))?;
            bytes.push(length);
            bytes.extend(label.as_bytes());
        }
        bytes.push(0);
        if bytes.len() > HEADER_BYTES + MAX_NAME_BYTES {
            return None;
        }
        bytes.extend(kind.number().to_be_bytes());
        bytes.extend(INTERNET.to_be_bytes());
        Some(Self { bytes, kind })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// None if the message is not a reply to this query.
    pub(crate) fn read_reply(&self, message: &[u8]) -> Option<Reply> {
        let mut rest = Reader(message);
        let [number, flags, questions, answers] = [rest.number()?, rest.number()?, rest.number()?, rest.number()?];
        rest.take(4)?;
        let question = self.bytes.get(HEADER_BYTES..)?;
        let is_reply = self.bytes.starts_with(&number.to_be_bytes())
            && flags & (IS_REPLY | OPERATION) == IS_REPLY
            && questions == 1
            && rest.take(question.len())?.eq_ignore_ascii_case(question);
        if !is_reply {
            return None;
        }
        Some(match flags & RESULT {
            _ if flags & IS_TRUNCATED != 0 => Reply::Truncated,
            NO_ERROR => self.read_answers(rest, answers).unwrap_or(Reply::Failed),
            NO_SUCH_NAME => Reply::Addresses { addresses: Vec::new(), seconds: 0 },
            _ => Reply::Failed,
        })
    }

    /// None if the records are malformed. Those of other kinds are aliases on the way to the addresses.
    fn read_answers(&self, mut rest: Reader<'_>, answers: u16) -> Option<Reply> {
        let (mut addresses, mut seconds) = (Vec::new(), u32::MAX);
        for _ in 0..answers {
            rest.skip_name()?;
            let [kind, class] = [rest.number()?, rest.number()?];
            let valid_for = u32::from(rest.number()?) << 16 | u32::from(rest.number()?);
            let length = rest.number()?;
            let data = rest.take(length.into())?;
            seconds = seconds.min(valid_for);
            if (kind, class) == (self.kind.number(), INTERNET) {
                addresses.extend(self.kind.address(data));
            }
        }
        Some(Reply::Addresses { addresses, seconds: if answers == 0 { 0 } else { seconds } })
    }
}

/// The rest of a message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*number))
    }

    /// A pointer ends a name; where it points to does not matter.
    fn skip_name(&mut self) -> Option<()> {
        loop {
            let [length] = *self.take(1)? else { return None };
            match length {
                0 => return Some(()),
                1..=63 => self.take(length.into()).map(|_| ())?,
                0xc0.. => return self.take(1).map(|_| ()),
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply to a query for `a.example` with an alias before two addresses.
    const REPLY: &[u8] = b"\x12\x34\x81\x80\0\x01\0\x03\0\0\0\0\x01A\x07example\0\0\x01\0\x01\
        \xc0\x0c\0\x05\0\x01\0\0\x01\x2c\0\x04\x01b\xc0\x0e\
        \xc0\x27\0\x01\0\x01\0\0\0\x3c\0\x04\x01\x02\x03\x04\
        \x01b\xc0\x0e\0\x01\0\x01\0\0\0\x3d\0\x04\x05\x06\x07\x08";

    fn query() -> Query {
        Query::new(0x1234, "a.example", Kind::A).unwrap()
    }

    #[test]
    fn a_reply_with_an_alias_is_read() {
        let addresses = vec![[1, 2, 3, 4].into(), [5, 6, 7, 8].into()];
        assert_eq!(query().read_reply(REPLY), Some(Reply::Addresses { addresses, seconds: 60 }));
        let none = Query::new(0x1234, "a.example", Kind::Aaaa).unwrap().read_reply(REPLY);
        assert_eq!(none, None, "the question is another");
    }

    #[test]
    fn what_is_no_reply_to_the_query_is_ignored() {
        let changed = |index: usize, byte: u8| {
            let mut reply = REPLY.to_vec();
            reply[index] = byte;
            query().read_reply(&reply)
        };
        // The number, the flags, the count of questions, the name, the kind and the class.
        for (index, byte) in [(0, 0), (1, 0), (2, 0x01), (2, 0xa1), (5, 0), (5, 2), (13, b'b'), (24, 28), (26, 3)] {
            assert_eq!(changed(index, byte), None, "{index}");
        }
        assert_eq!(changed(2, 0x83), Some(Reply::Truncated));
        assert_eq!(changed(3, 0x82), Some(Reply::Failed));
        assert_eq!(changed(3, 0x83), Some(Reply::Addresses { addresses: Vec::new(), seconds: 0 }));
        assert_eq!(changed(7, 4), Some(Reply::Failed), "a record is missing");
        assert_eq!(changed(7, 0), Some(Reply::Addresses { addresses: Vec::new(), seconds: 0 }));
    }

    #[test]
    fn a_cut_reply_is_never_taken_for_a_whole_one() {
        for length in 0..REPLY.len() {
            let read = query().read_reply(&REPLY[..length]);
            assert!(matches!(read, None | Some(Reply::Failed)), "{length}: {read:?}");
        }
    }
}
