// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// Keeps native coins for their owners and pays them out inside a call.
contract Vault {
    event Stored(address indexed owner, uint256 amount);
    event TakenOut(address indexed owner, address indexed to, uint256 amount);

    error TooMuch(uint256 stored, uint256 wanted);
    error CoinNotAccepted(address receiver);

    mapping(address owner => uint256) public stored;

    function store() external payable {
        stored[msg.sender] += msg.value;
        emit Stored(msg.sender, msg.value);
    }

    function takeOut(address payable to, uint256 amount) external {
        uint256 held = stored[msg.sender];
        if (held < amount) revert TooMuch(held, amount);
        stored[msg.sender] = held - amount;
        emit TakenOut(msg.sender, to, amount);
        (bool accepted,) = to.call{value: amount}("");
        if (!accepted) revert CoinNotAccepted(to);
    }
}
