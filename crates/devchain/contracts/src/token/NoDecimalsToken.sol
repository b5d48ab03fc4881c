// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {MintableBep20} from "./Bep20.sol";

/// A token that moves like any other, but reverts when it is asked for its decimals.
contract NoDecimalsToken is MintableBep20 {
    string public constant name = "Pointless";
    string public constant symbol = "PNTLS";

    function decimals() external pure returns (uint8) {
        revert("decimals are not kept");
    }
}
