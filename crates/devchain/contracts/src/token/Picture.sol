// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

// The sides of a drawing in cells, and of a cell in pixels.
uint256 constant CELLS = 16;
uint256 constant CELL_PIXELS = 8;

/// A drawing of 16 by 16 cells as a PNG of 128 by 128 pixels. Every cell is four bits, the number of a colour of the palette.
function png(bytes memory drawing, bytes memory palette) pure returns (bytes memory) {
    uint32 side = uint32(CELLS * CELL_PIXELS);
    // Four bits per pixel, colours from a palette.
    bytes memory header = abi.encodePacked(side, side, hex"0403000000");
    return abi.encodePacked(
        hex"89504e470d0a1a0a",
        _chunk("IHDR", header),
        _chunk("PLTE", palette),
        _chunk("IDAT", _stored(_pixels(drawing))),
        _chunk("IEND", "")
    );
}

function base64(bytes memory data) pure returns (string memory) {
    bytes memory letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Zeros in place of missing bytes; their letters are replaced at the end.
    uint256 missing = (3 - data.length % 3) % 3;
    bytes memory padded = abi.encodePacked(data, new bytes(missing));
    bytes memory text = new bytes(padded.length / 3 * 4);
    unchecked {
        for ((uint256 i, uint256 j) = (0, 0); i < padded.length; (i, j) = (i + 3, j + 4)) {
            uint256 bits = uint256(uint8(padded[i])) << 16 | uint256(uint8(padded[i + 1])) << 8 | uint8(padded[i + 2]);
            text[j] = letters[bits >> 18];
            text[j + 1] = letters[bits >> 12 & 63];
            text[j + 2] = letters[bits >> 6 & 63];
            text[j + 3] = letters[bits & 63];
        }
        for (uint256 i = 1; i <= missing; ++i) text[text.length - i] = "=";
    }
    return string(text);
}

/// The lines of an image, each after a byte that says it is not filtered.
function _pixels(bytes memory drawing) pure returns (bytes memory lines) {
    for (uint256 y = 0; y < CELLS; ++y) {
        bytes memory line = new bytes(1);
        for (uint256 x = 0; x < CELLS; ++x) {
            uint8 colour = uint8(drawing[(y * CELLS + x) / 2]) >> (x % 2 == 0 ? 4 : 0) & 15;
            line = abi.encodePacked(line, uint32(colour) * 0x11111111);
        }
        for (uint256 i = 0; i < CELL_PIXELS; ++i) lines = abi.encodePacked(lines, line);
    }
}

/// A zlib stream with one block that is not compressed.
function _stored(bytes memory data) pure returns (bytes memory) {
    uint16 length = uint16(data.length);
    length = length >> 8 | length << 8;
    return abi.encodePacked(hex"780101", length, ~length, data, _adler32(data));
}

function _chunk(bytes4 name, bytes memory data) pure returns (bytes memory) {
    bytes memory checked = abi.encodePacked(name, data);
    return abi.encodePacked(uint32(data.length), checked, _crc32(checked));
}

function _adler32(bytes memory data) pure returns (uint32) {
    uint256 a = 1;
    uint256 b = 0;
    unchecked {
        for (uint256 i = 0; i < data.length; ++i) {
            a = (a + uint8(data[i])) % 65521;
            b = (b + a) % 65521;
        }
    }
    return uint32(b << 16 | a);
}

/// The remainder for every value of four bits is computed once.
function _crc32(bytes memory data) pure returns (uint32) {
    uint256[16] memory remainders;
    for (uint256 i = 0; i < 16; ++i) {
        uint256 remainder = i;
        for (uint256 bit = 0; bit < 4; ++bit) {
            remainder = remainder & 1 == 0 ? remainder >> 1 : remainder >> 1 ^ 0xedb88320;
        }
        remainders[i] = remainder;
    }
    uint256 crc = type(uint32).max;
    unchecked {
        for (uint256 i = 0; i < data.length; ++i) {
            crc ^= uint8(data[i]);
            crc = crc >> 4 ^ remainders[crc & 15];
            crc = crc >> 4 ^ remainders[crc & 15];
        }
    }
    return ~uint32(crc);
}
