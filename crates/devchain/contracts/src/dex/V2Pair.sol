// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {Bep20} from "../token/Bep20.sol";
import {squareRoot} from "./Root.sol";

/// A constant-product pool of two tokens; its shares are a token themselves.
/// The caller pays first and calls then: what came in is what the balances have more than the reserves.
contract V2Pair is Bep20 {
    event Mint(address indexed sender, uint256 amount0, uint256 amount1);
    event Burn(address indexed sender, uint256 amount0, uint256 amount1, address indexed to);
    event Swap(
        address indexed sender,
        uint256 amount0In,
        uint256 amount1In,
        uint256 amount0Out,
        uint256 amount1Out,
        address indexed to
    );
    event Sync(uint112 reserve0, uint112 reserve1);

    error NotTheFactory();
    error NothingIn();
    error NothingOut();
    error NotEnoughLiquidity();
    error ProductFell();
    error ReserveTooLarge();
    error TransferFailed(address token);

    string public constant name = "Dev Swap Share";
    string public constant symbol = "DEV-LP";
    uint8 public constant decimals = 18;

    uint256 public constant MINIMUM_LIQUIDITY = 1000;
    /// The fee on what comes in, in hundredths of a percent.
    uint256 public constant FEE = 25;

    address public immutable factory = msg.sender;
    address public token0;
    address public token1;
    uint112 private reserve0;
    uint112 private reserve1;
    uint32 private changedAt;

    /// Tokens come here and not to the constructor, so that every pair has the same creation code
    /// and its CREATE2 address follows from the two tokens alone.
    function initialize(address token0_, address token1_) external {
        if (msg.sender != factory) revert NotTheFactory();
        token0 = token0_;
        token1 = token1_;
    }

    function getReserves() public view returns (uint112, uint112, uint32) {
        return (reserve0, reserve1, changedAt);
    }

    function mint(address to) external returns (uint256 shares) {
        (uint256 balance0, uint256 balance1) = _balances();
        uint256 amount0 = balance0 - reserve0;
        uint256 amount1 = balance1 - reserve1;
        if (totalSupply == 0) {
            shares = squareRoot(amount0 * amount1) - MINIMUM_LIQUIDITY;
            // Locked for ever, so that one share can never become worth a fortune.
            _mint(address(0), MINIMUM_LIQUIDITY);
        } else {
            uint256 by0 = amount0 * totalSupply / reserve0;
            uint256 by1 = amount1 * totalSupply / reserve1;
            shares = by0 < by1 ? by0 : by1;
        }
        if (shares == 0) revert NothingIn();
        _mint(to, shares);
        _keep(balance0, balance1);
        emit Mint(msg.sender, amount0, amount1);
    }

    function burn(address to) external returns (uint256 amount0, uint256 amount1) {
        (uint256 balance0, uint256 balance1) = _balances();
        uint256 shares = balanceOf[address(this)];
        amount0 = shares * balance0 / totalSupply;
        amount1 = shares * balance1 / totalSupply;
        if (amount0 == 0 || amount1 == 0) revert NothingOut();
        _burn(address(this), shares);
        _pay(token0, to, amount0);
        _pay(token1, to, amount1);
        (balance0, balance1) = _balances();
        _keep(balance0, balance1);
        emit Burn(msg.sender, amount0, amount1, to);
    }

    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata) external {
        if (amount0Out == 0 && amount1Out == 0) revert NothingOut();
        if (amount0Out >= reserve0 || amount1Out >= reserve1) revert NotEnoughLiquidity();
        if (amount0Out > 0) _pay(token0, to, amount0Out);
        if (amount1Out > 0) _pay(token1, to, amount1Out);

        (uint256 balance0, uint256 balance1) = _balances();
        uint256 amount0In = _above(balance0, reserve0 - amount0Out);
        uint256 amount1In = _above(balance1, reserve1 - amount1Out);
        if (amount0In == 0 && amount1In == 0) revert NothingIn();

        uint256 net0 = balance0 * 10_000 - amount0In * FEE;
        uint256 net1 = balance1 * 10_000 - amount1In * FEE;
        if (net0 * net1 < uint256(reserve0) * reserve1 * 10_000 ** 2) revert ProductFell();

        _keep(balance0, balance1);
        emit Swap(msg.sender, amount0In, amount1In, amount0Out, amount1Out, to);
    }

    function _balances() private view returns (uint256, uint256) {
        return (Bep20(token0).balanceOf(address(this)), Bep20(token1).balanceOf(address(this)));
    }

    function _keep(uint256 balance0, uint256 balance1) private {
        if (balance0 > type(uint112).max || balance1 > type(uint112).max) revert ReserveTooLarge();
        reserve0 = uint112(balance0);
        reserve1 = uint112(balance1);
        changedAt = uint32(block.timestamp);
        emit Sync(reserve0, reserve1);
    }

    function _pay(address token, address to, uint256 amount) private {
        if (!Bep20(token).transfer(to, amount)) revert TransferFailed(token);
    }

    function _above(uint256 value, uint256 floor) private pure returns (uint256) {
        return value > floor ? value - floor : 0;
    }
}
