// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {MintableBep20} from "./Bep20.sol";

/// The token as the standard describes it, with any number of decimals.
contract PlainToken is MintableBep20 {
    string public name;
    string public symbol;
    uint8 public immutable decimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }
}
