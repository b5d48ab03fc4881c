// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// The tick of a price: the logarithm of its value to the base 1.0001, rounded down, from the
/// price's square root in 64.96 fixed point. The base-2 logarithm is found bit by bit (square,
/// and halve when the result reaches two) with 40 bits after the point, a hundred-thousandth of a
/// tick: a price nearer to a tick's edge than that may be given the tick next to it.
function tickAt(uint160 sqrtPriceX96) pure returns (int24) {
    if (sqrtPriceX96 == 0) return type(int24).min;

    // The square root as m * 2^exponent with m in [1, 2), held with 127 bits after the point.
    uint256 m = sqrtPriceX96;
    int256 exponent = 127 - 96;
    while (m >= 1 << 128) {
        m >>= 1;
        ++exponent;
    }
    while (m < 1 << 127) {
        m <<= 1;
        --exponent;
    }

    int256 log2 = exponent << 40;
    for (uint256 bit = 1 << 39; bit > 0; bit >>= 1) {
        m = m * m >> 127;
        if (m >= 1 << 128) {
            m >>= 1;
            log2 += int256(bit);
        }
    }

    // The price is the square of its root, hence the factor 2 on the logarithm.
    // log2(1.0001) with 80 bits after the point; both sides of the division carry 80.
    int256 numerator = 2 * log2 << 40;
    int256 base = LOG2_OF_BASE;
    int256 tick = numerator / base;
    if (numerator % base < 0) --tick;
    return int24(tick);
}

// log2(1.0001) * 2^80.
int256 constant LOG2_OF_BASE = 174402408500968129467;
