// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {Bep20} from "./Bep20.sol";

/// The native coin as a token. Like the best known of its kind it announces a deposit and a
/// withdrawal with events of their own and no Transfer, so Transfers alone do not add up.
contract WrappedCoin is Bep20 {
    event Deposit(address indexed dst, uint256 wad);
    event Withdrawal(address indexed src, uint256 wad);

    error CoinNotAccepted(address receiver);

    string public constant name = "Wrapped Coin";
    string public constant symbol = "WCOIN";
    uint8 public constant decimals = 18;

    receive() external payable {
        deposit();
    }

    function deposit() public payable {
        totalSupply += msg.value;
        balanceOf[msg.sender] += msg.value;
        emit Deposit(msg.sender, msg.value);
    }

    function withdraw(uint256 wad) external {
        _take(msg.sender, wad);
        totalSupply -= wad;
        emit Withdrawal(msg.sender, wad);
        (bool accepted,) = msg.sender.call{value: wad}("");
        if (!accepted) revert CoinNotAccepted(msg.sender);
    }
}
