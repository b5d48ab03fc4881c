// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

interface IPoolV3 {
    function mint(address to, int24 low, int24 high, uint128 liquidity, bytes calldata data) external returns (uint256, uint256);
    function swap(address to, bool zeroForOne, int256 amount, uint160 limit, bytes calldata data) external returns (int256, int256);
    function token0() external view returns (address);
    function token1() external view returns (address);
}

/// Trades with v3 pools and pays from its own balance.
contract TraderV3 {
    function provide(IPoolV3 pool, uint128 liquidity) external {
        pool.mint(msg.sender, -600, 600, liquidity, "");
    }

    function trade(IPoolV3 pool, bool zeroForOne, int256 amount) external {
        uint160 limit = zeroForOne ? 4295128740 : 1461446703485210103287273052203988822378723970341;
        pool.swap(msg.sender, zeroForOne, amount, limit, "");
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata) external {
        pay(amount0, amount1);
    }

    function pancakeV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata) external {
        pay(amount0, amount1);
    }

    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata) external {
        payWhatIsOwed(amount0, amount1);
    }

    function pancakeV3SwapCallback(int256 amount0, int256 amount1, bytes calldata) external {
        payWhatIsOwed(amount0, amount1);
    }

    function payWhatIsOwed(int256 amount0, int256 amount1) private {
        pay(amount0 > 0 ? uint256(amount0) : 0, amount1 > 0 ? uint256(amount1) : 0);
    }

    function pay(uint256 amount0, uint256 amount1) private {
        if (amount0 > 0) IERC20(IPoolV3(msg.sender).token0()).transfer(msg.sender, amount0);
        if (amount1 > 0) IERC20(IPoolV3(msg.sender).token1()).transfer(msg.sender, amount1);
    }
}

/// Deploys PancakeSwap's pools for their factory. The pool code is stored in parts, since all of it is too
/// large for one contract and for one transaction.
contract PancakePoolDeployer {
    struct Parameters {
        address factory;
        address token0;
        address token1;
        uint24 fee;
        int24 tickSpacing;
    }

    Parameters public parameters;
    bytes private code;

    function learn(bytes calldata part) external {
        code = bytes.concat(code, part);
    }

    function deploy(address factory, address token0, address token1, uint24 fee, int24 tickSpacing)
        external
        returns (address pool)
    {
        parameters = Parameters(factory, token0, token1, fee, tickSpacing);
        bytes memory creation = code;
        bytes32 salt = keccak256(abi.encode(token0, token1, fee));
        assembly {
            pool := create2(0, add(creation, 32), mload(creation), salt)
        }
        require(pool != address(0), "no pool");
    }
}

/// Has the interface of a pool and names a real factory that did not create it.
contract PretendedPool {
    event Swap(
        address indexed sender,
        uint256 amount0In,
        uint256 amount1In,
        uint256 amount0Out,
        uint256 amount1Out,
        address indexed to
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

    address public immutable factory;
    address public immutable token0;
    address public immutable token1;
    uint24 public constant fee = 3000;

    constructor(address factory_, address token0_, address token1_) {
        (factory, token0, token1) = (factory_, token0_, token1_);
    }

    function pretend() external {
        emit Swap(msg.sender, 100, 0, 0, 50, msg.sender);
        emit Swap(msg.sender, msg.sender, int256(100), int256(-50), 1 << 96, 1, 0);
    }
}
