// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {MintableBep20} from "./Bep20.sol";

/// A token that keeps 1% of every transfer and does not say so: its Transfer event names the
/// full value. Balances added up from its events are wrong; only balanceOf knows.
contract SilentFeeToken is MintableBep20 {
    string public constant name = "Silent Fee";
    string public constant symbol = "HUSH";
    uint8 public constant decimals = 18;

    uint256 public constant FEE_PERCENT = 1;

    function _transfer(address from, address to, uint256 value) internal override {
        if (to == address(0)) revert ZeroAddress();
        uint256 fee = value * FEE_PERCENT / 100;
        _take(from, value);
        balanceOf[to] += value - fee;
        balanceOf[owner] += fee;
        emit Transfer(from, to, value);
    }
}
