// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A wallet whose signature check never returns.
contract StubbornWallet {
    function isValidSignature(bytes32 digest, bytes calldata) external pure returns (bytes4) {
        while (true) {
            digest = keccak256(abi.encode(digest));
        }
        return 0x1626ba7e;
    }
}
