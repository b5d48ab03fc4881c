use std::{fmt, str::FromStr};

use alloy_primitives::{Address, hex};

use crate::{MatchKind, UnixMillis};

/// Identifies a verification job; shown as a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobId([u8; 16]);

/// The text is not a job id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a UUID")]
pub struct InvalidJobId;

impl JobId {
    /// A version 4 UUID from a random number.
    #[must_use]
    pub fn from_random(number: u128) -> Self {
        let mut bytes = number.to_be_bytes();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }

    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(self.0);
        let part = |range| digits.get(range).unwrap_or_default();
        write!(f, "{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
    }
}

impl FromStr for JobId {
    type Err = InvalidJobId;

    /// With the dashes of a UUID or without, in any letter case.
    fn from_str(text: &str) -> Result<Self, InvalidJobId> {
        let digits: String = match text.len() {
            32 => text.to_owned(),
            36 if [8, 13, 18, 23].iter().all(|dash| text.as_bytes().get(*dash) == Some(&b'-')) => text.replace('-', ""),
            _ => return Err(InvalidJobId),
        };
        if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(InvalidJobId);
        }
        hex::decode_to_array(digits).map(Self).map_err(|_| InvalidJobId)
    }
}

/// A verification of a contract, from its submission on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationJob {
    pub id: JobId,
    /// The contract.
    pub address: Address,
    pub submitted_at: UnixMillis,
    /// None until it ends. Stays None if the process ended before the job did.
    pub result: Option<JobResult>,
}

/// How a verification ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    pub finished_at: UnixMillis,
    /// Milliseconds from the first compilation to the end; None if nothing was compiled.
    pub compilation_millis: Option<u64>,
    pub verdict: JobVerdict,
    /// The match, what differs, or what failed, as shown to users.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobVerdict {
    Verified {
        name: String,
        runtime_match: MatchKind,
        creation: CreationCheck,
    },
    /// The source does not compile to the code on the chain.
    Refused {
        reason: JobRefusal,
        /// The match of the creation code alone, which verifies nothing.
        creation_match: Option<MatchKind>,
    },
    /// There is no verdict.
    Failed(JobFailure),
}

/// What the creation code says about a contract whose runtime code matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreationCheck {
    Matches(MatchKind),
    /// The creation code is unknown, so the constructor is unproven.
    Unknown,
    /// The creation code on the chain is not that of the source.
    Differs,
}

impl CreationCheck {
    #[must_use]
    pub fn kind(self) -> Option<MatchKind> {
        match self {
            Self::Matches(kind) => Some(kind),
            Self::Unknown | Self::Differs => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobRefusal {
    /// The source could not be compiled.
    Compilation,
    /// It compiles to other code.
    NoMatch,
}

/// Why a verification ended without a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobFailure {
    NoCode,
    CompilerVersion,
    CompilerUnavailable,
    NodeUnavailable,
    StoreUnavailable,
    /// It ran too long, or panicked.
    Internal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_and_is_parsed_from_its_text() {
        let id = JobId::from_random(u128::MAX);
        assert_eq!(id.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().replace('-', "").to_uppercase().parse(), Ok(id));
    }

    #[test]
    fn other_texts_are_not_ids() {
        for text in ["", "7", "ffffffff-ffff-4fff-bfff-fffffffffff", "ffffffff-ffff-4fff-bfff-ffffffffffg", "é"] {
            assert_eq!(text.parse::<JobId>(), Err(InvalidJobId), "{text}");
        }
        assert_eq!("ffffffffffff-4fff-bfff-ffffffff-ffff".parse::<JobId>(), Err(InvalidJobId));
        assert_eq!("0xffffffffffffffffffffffffffffff".parse::<JobId>(), Err(InvalidJobId));
    }
}
