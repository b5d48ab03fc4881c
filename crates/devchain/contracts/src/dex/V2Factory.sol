// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {V2Pair} from "./V2Pair.sol";

/// Creates one pair for every two tokens, at an address that follows from the tokens.
contract V2Factory {
    event PairCreated(address indexed token0, address indexed token1, address pair, uint256 count);

    error SameToken(address token);
    error PairExists(address pair);

    mapping(address tokenA => mapping(address tokenB => address)) public getPair;
    address[] public allPairs;

    function allPairsLength() external view returns (uint256) {
        return allPairs.length;
    }

    function createPair(address tokenA, address tokenB) external returns (address pair) {
        if (tokenA == tokenB) revert SameToken(tokenA);
        if (getPair[tokenA][tokenB] != address(0)) revert PairExists(getPair[tokenA][tokenB]);
        (address token0, address token1) = tokenA < tokenB ? (tokenA, tokenB) : (tokenB, tokenA);

        V2Pair created = new V2Pair{salt: keccak256(abi.encodePacked(token0, token1))}();
        created.initialize(token0, token1);
        pair = address(created);

        getPair[token0][token1] = pair;
        getPair[token1][token0] = pair;
        allPairs.push(pair);
        emit PairCreated(token0, token1, pair, allPairs.length);
    }
}
