// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

import {Collectible} from "./Collectible.sol";
import {base64, png} from "./Picture.sol";

/// Boats whose pictures are drawn by this contract: their metadata needs no other host.
contract PaperBoats is Collectible("Paper Boats", "BOAT") {
    /// 0 sky, 1 sun, 2 sail, 3 folded sail, 4 hull, 5 folded hull, 6 water, 7 wave.
    bytes private constant DRAWING = hex"0000000000000000" hex"0000000000001110" hex"0000000200011111" hex"0000002300001110"
        hex"0000002330000000" hex"0000022333000000" hex"0000222333300000" hex"0002222333330000" hex"0022222333333000"
        hex"4000000400000005" hex"4444444444455555" hex"0444444444555550" hex"6644444445555566" hex"6667666666766676"
        hex"6766676667666666" hex"6666666666666766";

    function tokenURI(uint256 tokenId) external view override returns (string memory) {
        ownerOf(tokenId);
        (string memory time, bytes memory sky, bytes memory water) = _time(tokenId % 3);
        uint256 drawn = uint256(keccak256(abi.encode(tokenId)));
        (string memory sailColour, bytes memory sail) = _paper(drawn % 5);
        (string memory hullColour, bytes memory hull) = _paper((drawn >> 128) % 5);
        string memory picture = base64(png(DRAWING, abi.encodePacked(sky, sail, hull, water)));
        string memory attributes = string.concat(
            '[{"trait_type":"Time","value":"', time, '"},{"trait_type":"Sail","value":"', sailColour,
            '"},{"trait_type":"Hull","value":"', hullColour, '"}]'
        );
        return string.concat(
            'data:application/json;utf8,{"name":"Paper Boat ', _decimal(tokenId),
            '","description":"Folded and drawn by its contract.","image":"data:image/png;base64,', picture,
            '","attributes":', attributes, "}"
        );
    }

    /// The colours of sky and sun, and of water and waves.
    function _time(uint256 number) private pure returns (string memory, bytes memory, bytes memory) {
        if (number == 0) return ("Dusk", hex"f4b393f9e0a2", hex"5b6c9d8494c4");
        if (number == 1) return ("Day", hex"bfe3f2ffd75e", hex"3f8fb06fb7d1");
        return ("Night", hex"1d2a4df1f0e0", hex"16324f28567a");
    }

    /// The colours of the front and of the back of the paper.
    function _paper(uint256 number) private pure returns (string memory, bytes memory) {
        if (number == 0) return ("White", hex"fdfcf7d9d6c8");
        if (number == 1) return ("Red", hex"d9483ba8322a");
        if (number == 2) return ("Yellow", hex"f3c13ac4932b");
        if (number == 3) return ("Green", hex"4f9d69377049");
        return ("Violet", hex"8a6fc065509a");
    }

    function _decimal(uint256 number) private pure returns (string memory) {
        bytes memory digits;
        do {
            digits = abi.encodePacked(bytes1(uint8(48 + number % 10)), digits);
            number /= 10;
        } while (number > 0);
        return string(digits);
    }
}
