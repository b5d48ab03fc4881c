// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// Counts. Without a constructor, so that a proxy of it is whole from the start.
contract Counter {
    event Counted(address indexed by, uint256 number);

    uint256 public number;

    function increment() external {
        emit Counted(msg.sender, ++number);
    }
}
