use domain::Address;

/// Why a proof of ownership is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProofError {
    #[error("timestamp must be unix milliseconds; this one is in seconds")]
    Seconds,
    #[error("timestamp is more than 5 minutes in the past: sign a message with the current time")]
    Expired,
    #[error("timestamp is more than 5 minutes in the future: check the clock, and that the time is in milliseconds")]
    InFuture,
    #[error("signature must be hexadecimal digits, with or without a leading 0x")]
    NotHex,
    #[error("signature must not be longer than {max} bytes")]
    TooLong { max: usize },
    #[error(
        "signature must have 65 bytes, or 64 in the compact form of EIP-2098; it has {length}, and there is no contract at ownerAddress that could check it"
    )]
    Length { length: usize },
    #[error("the last byte of a signature (v) must be 0, 1, 27 or 28; it is {0}")]
    RecoveryByte(u8),
    #[error("r or s of the signature is out of range")]
    Scalars,
    #[error(
        "s of the signature is in the upper half of its range: only the equivalent signature with the low s is accepted"
    )]
    HighS,
    #[error(
        "the signature is not by ownerAddress: for the expected text the signer would be {signer:#x}. Either another wallet signed, or another text was signed"
    )]
    OtherSigner { signer: Address },
    #[error("{0}")]
    WrongText(WrongText),
    #[error("the contract at ownerAddress does not accept the signature (ERC-1271)")]
    RejectedByContract,
    #[error(
        "there is no contract at ownerAddress, and the deployment in the signature (ERC-6492) does not create one that accepts it"
    )]
    NotDeployable,
}

/// A common mistake in the signed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongText {
    #[error(
        "the signed text has an address with capital letters: the address in the second line must be in lower case"
    )]
    MixedCaseAddress,
    #[error("the signed text has carriage returns: separate its lines with a line feed only")]
    CarriageReturns,
    #[error("the signed text ends with a line feed: there must be none after the third line")]
    TrailingLineFeed,
    #[error("the signed text has a backslash and an n between its lines: separate them with a line feed")]
    EscapedLineFeeds,
    #[error("the signed text has the time in seconds: it must be the milliseconds of `timestamp`")]
    SecondsInText,
}
