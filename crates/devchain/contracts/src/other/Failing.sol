// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// Fails in every way a call can fail.
contract Failing {
    error Refused(address caller, uint256 code);

    uint256[] private empty;

    function withMessage(uint256 amount) external pure {
        require(amount > type(uint128).max, "amount is too small");
    }

    function withCustomError(uint256 code) external view {
        revert Refused(msg.sender, code);
    }

    function withoutReason() external pure {
        revert();
    }

    /// Panic 0x01.
    function withAssert(uint256 number) external pure {
        assert(number > type(uint128).max);
    }

    /// Panic 0x11.
    function withOverflow(uint256 number) external pure returns (uint256) {
        return type(uint256).max + number + 1;
    }

    /// Panic 0x12.
    function withDivision(uint256 number) external view returns (uint256) {
        return number / empty.length;
    }

    /// Panic 0x32.
    function withIndex(uint256 index) external view returns (uint256) {
        return empty[index];
    }

    /// Uses up whatever gas it is given.
    function withoutEnd() external pure returns (uint256 rounds) {
        while (true) {
            unchecked {
                ++rounds;
            }
        }
    }
}
