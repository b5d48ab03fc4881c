use domain::Address;

/// Why a proof of ownership does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProofFault {
    #[error("timestamp must be unix milliseconds; this one is in seconds")]
    Seconds,
    #[error("timestamp lies more than 5 minutes in the past: sign a message with the present time")]
    Expired,
    #[error("timestamp lies more than 5 minutes in the future: check the clock, and that it is in milliseconds")]
    FromTheFuture,
    #[error("signature must be hexadecimal digits, with or without 0x before them")]
    NotHex,
    #[error("signature must not be longer than {max} bytes")]
    TooLong { max: usize },
    #[error(
        "signature must be 65 bytes, or 64 in the compact form of EIP-2098; it has {length}, and there is no contract at ownerAddress that could understand it"
    )]
    Length { length: usize },
    #[error("the last byte of a signature (v) must be 0, 1, 27 or 28; it is {0}")]
    RecoveryByte(u8),
    #[error("r and s of the signature are no numbers that a signature can have")]
    Scalars,
    #[error(
        "s of the signature lies in the upper half of its range: this is the altered twin of another signature, and only the one with the low s is accepted"
    )]
    HighS,
    #[error(
        "the signature is not ownerAddress's: of the expected text it would be {signer:#x}'s. Either another wallet signed, or another text than the one expected was signed"
    )]
    OtherSigner { signer: Address },
    #[error("{0}")]
    OtherText(OtherText),
    #[error("the contract at ownerAddress does not accept the signature (ERC-1271)")]
    RefusedByContract,
    #[error(
        "there is no contract at ownerAddress, and what the signature says to deploy it (ERC-6492) does not bring one about that accepts it"
    )]
    NotDeployable,
}

/// What the owner signed in place of the right text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OtherText {
    #[error(
        "the text that was signed has the address with capital letters: in the second line it must be in lower case"
    )]
    MixedCaseAddress,
    #[error("the text that was signed has carriage returns: its lines must be separated by a line feed alone")]
    CarriageReturns,
    #[error("the text that was signed ends with a line feed: there must be none after the third line")]
    TrailingLineFeed,
    #[error(
        "the text that was signed has a backslash and an n between its lines: they must be separated by a line feed"
    )]
    EscapedLineFeeds,
    #[error("the text that was signed has the time in seconds: it must be the milliseconds of `timestamp`")]
    SecondsInText,
}
