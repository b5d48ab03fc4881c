// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {Counter} from "./Counter.sol";

/// Creates contracts inside a call, in every way the EVM knows: whole ones and minimal proxies
/// (EIP-1167), at an address by nonce (CREATE) or by salt (CREATE2).
contract Nursery {
    event Born(address indexed child);

    error NotBorn();

    function create() external returns (address) {
        return _announce(address(new Counter()));
    }

    function create2(bytes32 salt) external returns (address) {
        return _announce(address(new Counter{salt: salt}()));
    }

    function clone(address original) external returns (address child) {
        bytes memory code = proxyCode(original);
        assembly ("memory-safe") {
            child := create(0, add(code, 32), mload(code))
        }
        return _announce(child);
    }

    function clone2(address original, bytes32 salt) external returns (address child) {
        bytes memory code = proxyCode(original);
        assembly ("memory-safe") {
            child := create2(0, add(code, 32), mload(code), salt)
        }
        return _announce(child);
    }

    /// Creation code that leaves the 45 bytes of EIP-1167: hand every call on to `original`.
    function proxyCode(address original) public pure returns (bytes memory) {
        return abi.encodePacked(
            hex"3d602d80600a3d3981f3", hex"363d3d373d3d3d363d73", original, hex"5af43d82803e903d91602b57fd5bf3"
        );
    }

    function _announce(address child) private returns (address) {
        if (child == address(0)) revert NotBorn();
        emit Born(child);
        return child;
    }
}
