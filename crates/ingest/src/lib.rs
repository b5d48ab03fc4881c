//! Follows a chain: fetch, decode, reorganise, commit.
