// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// The integer square root, rounded down, by Newton's steps from above.
function squareRoot(uint256 x) pure returns (uint256 root) {
    if (x == 0) return 0;
    root = x;
    uint256 next = x / 2 + 1;
    while (next < root) {
        root = next;
        next = (x / root + root) / 2;
    }
}
