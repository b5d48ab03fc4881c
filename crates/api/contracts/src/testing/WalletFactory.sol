// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ContractWallet} from "testing/ContractWallet.sol";

/// Deploys wallets at predictable addresses.
contract WalletFactory {
    function deploy(address owner, bytes32 salt) external returns (address) {
        return address(new ContractWallet{salt: salt}(owner));
    }

    function addressOf(address owner, bytes32 salt) external view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(ContractWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, code)))));
    }
}
