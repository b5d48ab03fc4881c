// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// Delegates every call to an implementation, whose address is in the storage slot of EIP-1967.
contract Proxy {
    event Upgraded(address indexed implementation);

    error NotAContract(address implementation);

    bytes32 private constant SLOT = 0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc;

    /// `call` initializes the storage of the proxy with the code of the implementation.
    constructor(address implementation, bytes memory call) {
        if (implementation.code.length == 0) revert NotAContract(implementation);
        assembly ("memory-safe") {
            sstore(SLOT, implementation)
        }
        emit Upgraded(implementation);
        (bool succeeded, bytes memory output) = implementation.delegatecall(call);
        if (succeeded) return;
        assembly ("memory-safe") {
            revert(add(output, 32), mload(output))
        }
    }

    receive() external payable {
        _delegate();
    }

    fallback() external payable {
        _delegate();
    }

    /// Ends the call with the output of the implementation, so that the memory can be overwritten.
    function _delegate() private {
        assembly {
            calldatacopy(0, 0, calldatasize())
            let succeeded := delegatecall(gas(), sload(SLOT), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if succeeded { return(0, returndatasize()) }
            revert(0, returndatasize())
        }
    }
}
