// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {Bep20} from "../token/Bep20.sol";
import {tickAt} from "./Tick.sol";

/// A pool that knows its price as a square root in 64.96 fixed point and announces swaps with
/// signed amounts: positive came in, negative went out. All liquidity spans the full range, so
/// a swap never crosses a tick. The pool pulls what it is owed by allowance; fees stay in it.
contract V3Pool {
    event Initialize(uint160 sqrtPriceX96, int24 tick);
    event Mint(
        address sender,
        address indexed owner,
        int24 indexed tickLower,
        int24 indexed tickUpper,
        uint128 amount,
        uint256 amount0,
        uint256 amount1
    );
    event Swap(
        address indexed sender,
        address indexed recipient,
        int256 amount0,
        int256 amount1,
        uint160 sqrtPriceX96,
        uint128 liquidity,
        int24 tick
    );

    error AlreadyInitialized();
    error NotInitialized();
    error NothingIn();
    error NothingOut();
    error AmountTooLarge();
    error TransferFailed(address token);

    int24 private constant LARGEST_TICK = 887272;

    address public immutable factory = msg.sender;
    address public immutable token0;
    address public immutable token1;
    uint24 public immutable fee;
    int24 public immutable tickSpacing;

    uint160 public sqrtPriceX96;
    uint128 public liquidity;

    constructor(address token0_, address token1_, uint24 fee_, int24 tickSpacing_) {
        token0 = token0_;
        token1 = token1_;
        fee = fee_;
        tickSpacing = tickSpacing_;
    }

    function initialize(uint160 sqrtPriceX96_) external {
        if (sqrtPriceX96 != 0) revert AlreadyInitialized();
        sqrtPriceX96 = sqrtPriceX96_;
        emit Initialize(sqrtPriceX96_, tickAt(sqrtPriceX96_));
    }

    function mint(address owner, uint128 amount) external returns (uint256 amount0, uint256 amount1) {
        if (sqrtPriceX96 == 0) revert NotInitialized();
        if (amount == 0) revert NothingIn();
        // What is owed to the pool is rounded up.
        amount0 = _divideUp(uint256(amount) << 96, sqrtPriceX96);
        amount1 = _divideUp(uint256(amount) * sqrtPriceX96, 1 << 96);
        liquidity += amount;
        _pull(token0, amount0);
        _pull(token1, amount1);
        int24 edge = LARGEST_TICK / tickSpacing * tickSpacing;
        emit Mint(msg.sender, owner, -edge, edge, amount, amount0, amount1);
    }

    /// Gives exactly `amountIn` of one token for as much of the other as the curve allows.
    function swap(address recipient, bool zeroForOne, uint256 amountIn)
        external
        returns (int256 amount0, int256 amount1)
    {
        if (amountIn == 0) revert NothingIn();
        if (amountIn > uint256(type(int256).max)) revert AmountTooLarge();
        if (liquidity == 0) revert NotInitialized();

        uint256 net = amountIn * (1_000_000 - fee) / 1_000_000;
        uint256 out = zeroForOne ? _moveDown(net) : _moveUp(net);
        if (out == 0) revert NothingOut();
        (amount0, amount1) =
            zeroForOne ? (int256(amountIn), -int256(out)) : (-int256(out), int256(amountIn));

        _pull(zeroForOne ? token0 : token1, amountIn);
        address paid = zeroForOne ? token1 : token0;
        if (!Bep20(paid).transfer(recipient, out)) revert TransferFailed(paid);
        emit Swap(msg.sender, recipient, amount0, amount1, sqrtPriceX96, liquidity, tickAt(sqrtPriceX96));
    }

    /// Token 0 comes in and the price falls. x = L / sqrt(P) is the reserve of token 0 on the curve.
    function _moveDown(uint256 net) private returns (uint256 out) {
        uint256 scaled = uint256(liquidity) << 96;
        uint256 next = _divideUp(scaled, scaled / sqrtPriceX96 + net);
        out = uint256(liquidity) * (sqrtPriceX96 - next) >> 96;
        _setPrice(next);
    }

    /// Token 1 comes in and the price rises. y = L * sqrt(P) is the reserve of token 1 on the curve.
    function _moveUp(uint256 net) private returns (uint256 out) {
        uint256 scaled = uint256(liquidity) << 96;
        uint256 next = sqrtPriceX96 + (net << 96) / liquidity;
        uint256 reserveAfter = _divideUp(scaled, next);
        uint256 reserveBefore = scaled / sqrtPriceX96;
        out = reserveBefore > reserveAfter ? reserveBefore - reserveAfter : 0;
        _setPrice(next);
    }

    function _setPrice(uint256 next) private {
        if (next > type(uint160).max) revert AmountTooLarge();
        sqrtPriceX96 = uint160(next);
    }

    function _pull(address token, uint256 amount) private {
        if (!Bep20(token).transferFrom(msg.sender, address(this), amount)) revert TransferFailed(token);
    }

    function _divideUp(uint256 a, uint256 b) private pure returns (uint256) {
        return (a + b - 1) / b;
    }
}
