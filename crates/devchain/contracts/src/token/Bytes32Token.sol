// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {MintableBep20} from "./Bep20.sol";

/// A token from before strings were usual: its name and symbol are bytes32, padded with zeros.
contract Bytes32Token is MintableBep20 {
    bytes32 public constant name = "Old Maker";
    bytes32 public constant symbol = "OLDMKR";
    uint8 public constant decimals = 18;
}
