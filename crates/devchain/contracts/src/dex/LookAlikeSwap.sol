// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// Emits Swap logs that look like a pool's, but it has no tokens and moves nothing.
/// Whoever counts trades by the event alone counts these too.
contract LookAlikeSwap {
    event Swap(
        address indexed sender,
        uint256 amount0In,
        uint256 amount1In,
        uint256 amount0Out,
        uint256 amount1Out,
        address indexed to
    );

    function pretend(uint256 amountIn, uint256 amountOut, address to) external {
        emit Swap(msg.sender, amountIn, 0, 0, amountOut, to);
    }
}
