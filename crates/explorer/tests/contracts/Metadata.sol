// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// Every id has its own URI, which anyone can change.
contract NamedPieces is ERC721 {
    mapping(uint256 => string) private uris;

    constructor() ERC721("Named Pieces", "NP") {}

    function mint(address to, uint256 id, string calldata uri) external {
        uris[id] = uri;
        _mint(to, id);
    }

    function setUri(uint256 id, string calldata uri) external {
        uris[id] = uri;
    }

    function tokenURI(uint256 id) public view override returns (string memory) {
        _requireOwned(id);
        return uris[id];
    }
}

/// All ids share a URI, which anyone can change.
contract NamedItems is ERC1155 {
    constructor() ERC1155("") {}

    function mint(address to, uint256 id, string calldata newUri) external {
        _setURI(newUri);
        _mint(to, id, 1, "");
    }
}
