// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {V3Pool} from "./V3Pool.sol";

/// Creates one pool for every two tokens and fee.
contract V3Factory {
    event PoolCreated(
        address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool
    );

    error SameToken(address token);
    error UnknownFee(uint24 fee);
    error PoolExists(address pool);

    mapping(address tokenA => mapping(address tokenB => mapping(uint24 fee => address))) public getPool;
    mapping(uint24 fee => int24) public feeAmountTickSpacing;

    constructor() {
        feeAmountTickSpacing[500] = 10;
        feeAmountTickSpacing[2500] = 50;
        feeAmountTickSpacing[10000] = 200;
    }

    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address pool) {
        if (tokenA == tokenB) revert SameToken(tokenA);
        int24 spacing = feeAmountTickSpacing[fee];
        if (spacing == 0) revert UnknownFee(fee);
        if (getPool[tokenA][tokenB][fee] != address(0)) revert PoolExists(getPool[tokenA][tokenB][fee]);
        (address token0, address token1) = tokenA < tokenB ? (tokenA, tokenB) : (tokenB, tokenA);

        bytes32 salt = keccak256(abi.encode(token0, token1, fee));
        pool = address(new V3Pool{salt: salt}(token0, token1, fee, spacing));

        getPool[token0][token1][fee] = pool;
        getPool[token1][token0][fee] = pool;
        emit PoolCreated(token0, token1, fee, spacing, pool);
    }
}
