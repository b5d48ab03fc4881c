// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Checks a signature with a contract wallet (ERC-1271), and first deploys a wallet that is not deployed yet (ERC-6492).
///
/// Never deployed itself: this is the creation code of an eth_call, and the constructor returns the result.
contract SignatureCheck {
    uint256 private constant NO_CONTRACT = 0;
    uint256 private constant VALID = 1;
    uint256 private constant REFUSED = 2;

    bytes4 private constant MAGIC_VALUE = 0x1626ba7e;
    bytes32 private constant NOT_YET_DEPLOYED = 0x6492649264926492649264926492649264926492649264926492649264926492;

    constructor(address wallet, bytes32 digest, bytes memory signature) {
        uint256 verdict = check(wallet, digest, signature);
        assembly {
            mstore(0, verdict)
            return(0, 32)
        }
    }

    function check(address wallet, bytes32 digest, bytes memory signature) private returns (uint256) {
        if (!endsWithMark(signature)) {
            return ask(wallet, digest, signature);
        }
        (address factory, bytes memory preparation, bytes memory inner) = unwrap(signature);
        uint256 verdict = ask(wallet, digest, inner);
        if (verdict == VALID) {
            return VALID;
        }
        // Deploys the wallet or, if it is deployed already, prepares it to accept the signature.
        (bool prepared,) = factory.call(preparation);
        return prepared ? ask(wallet, digest, inner) : verdict;
    }

    function ask(address wallet, bytes32 digest, bytes memory signature) private view returns (uint256) {
        if (wallet.code.length == 0) {
            return NO_CONTRACT;
        }
        bytes memory question = abi.encodeWithSelector(MAGIC_VALUE, digest, signature);
        bool answered;
        uint256 length;
        bytes32 answer;
        // Copies only one word, however much the wallet returns.
        assembly {
            answered := staticcall(gas(), wallet, add(question, 32), mload(question), 0, 32)
            length := returndatasize()
            answer := mload(0)
        }
        return answered && length >= 32 && answer == bytes32(MAGIC_VALUE) ? VALID : REFUSED;
    }

    function endsWithMark(bytes memory signature) private pure returns (bool marked) {
        if (signature.length < 32) {
            return false;
        }
        assembly {
            marked := eq(mload(add(signature, mload(signature))), NOT_YET_DEPLOYED)
        }
    }

    /// The data before the ERC-6492 suffix: the factory, its call data, and the wallet's signature.
    function unwrap(bytes memory signature) private pure returns (address, bytes memory, bytes memory) {
        assembly {
            mstore(signature, sub(mload(signature), 32))
        }
        return abi.decode(signature, (address, bytes, bytes));
    }
}
