// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// A fixed supply, owned by the deployer.
contract Coin is ERC20 {
    constructor() ERC20("Plain Coin", "PLAIN") {
        _mint(msg.sender, 1_000_000 ether);
    }
}

/// Anyone can mint and burn.
contract MintableCoin is ERC20, ERC20Burnable {
    constructor() ERC20("Mintable Coin", "MINT") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }
}

contract Pieces is ERC721 {
    uint256 public totalSupply;

    constructor() ERC721("Pieces", "PC") {}

    function mint(address to, uint256 id) external {
        totalSupply++;
        _mint(to, id);
    }

    function burn(uint256 id) external {
        totalSupply--;
        _burn(id);
    }
}

contract Items is ERC1155 {
    constructor() ERC1155("") {}

    function mint(address to, uint256 id, uint256 amount) external {
        _mint(to, id, amount, "");
    }

    function mintMany(address to, uint256 firstId, uint256 count, uint256 amount) external {
        (uint256[] memory ids, uint256[] memory amounts) = many(firstId, count, amount);
        _mintBatch(to, ids, amounts, "");
    }

    function sendMany(address to, uint256 firstId, uint256 count, uint256 amount) external {
        (uint256[] memory ids, uint256[] memory amounts) = many(firstId, count, amount);
        _safeBatchTransferFrom(msg.sender, to, ids, amounts, "");
    }

    function send(address to, uint256 id, uint256 amount) external {
        _safeTransferFrom(msg.sender, to, id, amount, "");
    }

    function burn(uint256 id, uint256 amount) external {
        _burn(msg.sender, id, amount);
    }

    function many(uint256 firstId, uint256 count, uint256 amount)
        private
        pure
        returns (uint256[] memory ids, uint256[] memory amounts)
    {
        ids = new uint256[](count);
        amounts = new uint256[](count);
        for (uint256 i = 0; i < count; i++) {
            ids[i] = firstId + i;
            amounts[i] = amount + i;
        }
    }
}
