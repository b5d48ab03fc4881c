// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {Bep20} from "../token/Bep20.sol";
import {WrappedCoin} from "../token/WrappedCoin.sol";
import {V2Factory} from "./V2Factory.sol";
import {V2Pair} from "./V2Pair.sol";

/// Pays pairs and calls them in one transaction: liquidity in and out, swaps along a path,
/// with the native coin at either end.
contract V2Router {
    error Expired(uint256 deadline, uint256 timestamp);
    error NoSuchPair(address tokenA, address tokenB);
    error TooLittleOut(uint256 out, uint256 wanted);
    error BadPath();
    error TransferFailed(address token);
    error CoinNotAccepted(address receiver);

    V2Factory public immutable factory;
    WrappedCoin public immutable WETH;

    constructor(V2Factory factory_, WrappedCoin wrapped) {
        factory = factory_;
        WETH = wrapped;
    }

    /// Only the wrapped coin pays the router, when it unwraps.
    receive() external payable {
        require(msg.sender == address(WETH), "only the wrapped coin");
    }

    modifier before(uint256 deadline) {
        if (block.timestamp > deadline) revert Expired(deadline, block.timestamp);
        _;
    }

    function addLiquidity(
        address tokenA,
        address tokenB,
        uint256 amountADesired,
        uint256 amountBDesired,
        uint256 amountAMin,
        uint256 amountBMin,
        address to,
        uint256 deadline
    ) external before(deadline) returns (uint256 amountA, uint256 amountB, uint256 liquidity) {
        if (factory.getPair(tokenA, tokenB) == address(0)) factory.createPair(tokenA, tokenB);
        V2Pair pair = _pair(tokenA, tokenB);
        (amountA, amountB) = _atCurrentPrice(tokenA, tokenB, amountADesired, amountBDesired);
        if (amountA < amountAMin) revert TooLittleOut(amountA, amountAMin);
        if (amountB < amountBMin) revert TooLittleOut(amountB, amountBMin);
        _pull(tokenA, address(pair), amountA);
        _pull(tokenB, address(pair), amountB);
        liquidity = pair.mint(to);
    }

    function removeLiquidity(
        address tokenA,
        address tokenB,
        uint256 liquidity,
        uint256 amountAMin,
        uint256 amountBMin,
        address to,
        uint256 deadline
    ) external before(deadline) returns (uint256 amountA, uint256 amountB) {
        V2Pair pair = _pair(tokenA, tokenB);
        _pull(address(pair), address(pair), liquidity);
        (uint256 amount0, uint256 amount1) = pair.burn(to);
        (amountA, amountB) = tokenA < tokenB ? (amount0, amount1) : (amount1, amount0);
        if (amountA < amountAMin) revert TooLittleOut(amountA, amountAMin);
        if (amountB < amountBMin) revert TooLittleOut(amountB, amountBMin);
    }

    function swapExactTokensForTokens(
        uint256 amountIn,
        uint256 amountOutMin,
        address[] calldata path,
        address to,
        uint256 deadline
    ) external before(deadline) returns (uint256[] memory amounts) {
        amounts = getAmountsOut(amountIn, path);
        _requireOut(amounts, amountOutMin);
        _pull(path[0], address(_pair(path[0], path[1])), amountIn);
        _swap(amounts, path, to);
    }

    function swapExactETHForTokens(uint256 amountOutMin, address[] calldata path, address to, uint256 deadline)
        external
        payable
        before(deadline)
        returns (uint256[] memory amounts)
    {
        if (path[0] != address(WETH)) revert BadPath();
        amounts = getAmountsOut(msg.value, path);
        _requireOut(amounts, amountOutMin);
        WETH.deposit{value: msg.value}();
        if (!WETH.transfer(address(_pair(path[0], path[1])), msg.value)) revert TransferFailed(address(WETH));
        _swap(amounts, path, to);
    }

    function swapExactTokensForETH(
        uint256 amountIn,
        uint256 amountOutMin,
        address[] calldata path,
        address to,
        uint256 deadline
    ) external before(deadline) returns (uint256[] memory amounts) {
        if (path[path.length - 1] != address(WETH)) revert BadPath();
        amounts = getAmountsOut(amountIn, path);
        _requireOut(amounts, amountOutMin);
        _pull(path[0], address(_pair(path[0], path[1])), amountIn);
        _swap(amounts, path, address(this));
        uint256 out = amounts[amounts.length - 1];
        WETH.withdraw(out);
        (bool accepted,) = to.call{value: out}("");
        if (!accepted) revert CoinNotAccepted(to);
    }

    function getAmountsOut(uint256 amountIn, address[] calldata path) public view returns (uint256[] memory amounts) {
        if (path.length < 2) revert BadPath();
        amounts = new uint256[](path.length);
        amounts[0] = amountIn;
        for (uint256 i = 1; i < path.length; ++i) {
            (uint256 reserveIn, uint256 reserveOut) = _reserves(path[i - 1], path[i]);
            uint256 net = amounts[i - 1] * (10_000 - 25);
            amounts[i] = net * reserveOut / (reserveIn * 10_000 + net);
        }
    }

    /// Each pair pays the next one directly, the last one pays the receiver.
    function _swap(uint256[] memory amounts, address[] calldata path, address to) private {
        for (uint256 i = 1; i < path.length; ++i) {
            address receiver = i + 1 < path.length ? address(_pair(path[i], path[i + 1])) : to;
            (uint256 out0, uint256 out1) =
                path[i - 1] < path[i] ? (uint256(0), amounts[i]) : (amounts[i], uint256(0));
            _pair(path[i - 1], path[i]).swap(out0, out1, receiver, "");
        }
    }

    /// As much of both as fits the pair's price, never more than desired of either.
    function _atCurrentPrice(address tokenA, address tokenB, uint256 desiredA, uint256 desiredB)
        private
        view
        returns (uint256, uint256)
    {
        (uint256 reserveA, uint256 reserveB) = _reserves(tokenA, tokenB);
        if (reserveA == 0 && reserveB == 0) return (desiredA, desiredB);
        uint256 fittingB = desiredA * reserveB / reserveA;
        if (fittingB <= desiredB) return (desiredA, fittingB);
        return (desiredB * reserveA / reserveB, desiredB);
    }

    function _reserves(address tokenA, address tokenB) private view returns (uint256, uint256) {
        (uint112 reserve0, uint112 reserve1,) = _pair(tokenA, tokenB).getReserves();
        return tokenA < tokenB ? (reserve0, reserve1) : (reserve1, reserve0);
    }

    function _pair(address tokenA, address tokenB) private view returns (V2Pair) {
        address pair = factory.getPair(tokenA, tokenB);
        if (pair == address(0)) revert NoSuchPair(tokenA, tokenB);
        return V2Pair(pair);
    }

    function _pull(address token, address to, uint256 amount) private {
        if (!Bep20(token).transferFrom(msg.sender, to, amount)) revert TransferFailed(token);
    }

    function _requireOut(uint256[] memory amounts, uint256 wanted) private pure {
        uint256 out = amounts[amounts.length - 1];
        if (out < wanted) revert TooLittleOut(out, wanted);
    }
}
