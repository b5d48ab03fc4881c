// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

interface IBep721Receiver {
    function onERC721Received(address operator, address from, uint256 id, bytes calldata data) external returns (bytes4);
}

/// A non-fungible token. Anyone mints; ids run from 1.
contract Collectible {
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
    event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    error NoSuchToken(uint256 tokenId);
    error NotTheHolder(address from, uint256 tokenId);
    error NotAllowed(address caller, uint256 tokenId);
    error ReceiverRefuses(address to);
    error ZeroAddress();

    string public name;
    string public symbol;
    uint256 public lastId;
    /// Those alive: minted and not burnt.
    uint256 public totalSupply;

    mapping(address holder => uint256) public balanceOf;
    mapping(uint256 tokenId => address) public getApproved;
    mapping(address owner => mapping(address operator => bool)) public isApprovedForAll;
    mapping(uint256 tokenId => address) private _holder;

    constructor(string memory name_, string memory symbol_) {
        name = name_;
        symbol = symbol_;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        // ERC-165 itself, ERC-721, ERC-721 metadata.
        return id == 0x01ffc9a7 || id == 0x80ac58cd || id == 0x5b5e139f;
    }

    function ownerOf(uint256 tokenId) public view returns (address holder) {
        holder = _holder[tokenId];
        if (holder == address(0)) revert NoSuchToken(tokenId);
    }

    function tokenURI(uint256 tokenId) external view virtual returns (string memory) {
        ownerOf(tokenId);
        return "data:application/json,{\"name\":\"Collectible\"}";
    }

    function mint(address to) external returns (uint256 tokenId) {
        if (to == address(0)) revert ZeroAddress();
        tokenId = ++lastId;
        ++totalSupply;
        ++balanceOf[to];
        _holder[tokenId] = to;
        emit Transfer(address(0), to, tokenId);
    }

    function burn(uint256 tokenId) external {
        address holder = ownerOf(tokenId);
        _requireAllowed(holder, tokenId);
        delete getApproved[tokenId];
        delete _holder[tokenId];
        --balanceOf[holder];
        --totalSupply;
        emit Transfer(holder, address(0), tokenId);
    }

    function approve(address approved, uint256 tokenId) external {
        address holder = ownerOf(tokenId);
        if (msg.sender != holder && !isApprovedForAll[holder][msg.sender]) revert NotAllowed(msg.sender, tokenId);
        getApproved[tokenId] = approved;
        emit Approval(holder, approved, tokenId);
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    function transferFrom(address from, address to, uint256 tokenId) public {
        address holder = ownerOf(tokenId);
        if (holder != from) revert NotTheHolder(from, tokenId);
        if (to == address(0)) revert ZeroAddress();
        _requireAllowed(holder, tokenId);
        delete getApproved[tokenId];
        --balanceOf[from];
        ++balanceOf[to];
        _holder[tokenId] = to;
        emit Transfer(from, to, tokenId);
    }

    function safeTransferFrom(address from, address to, uint256 tokenId) external {
        safeTransferFrom(from, to, tokenId, "");
    }

    function safeTransferFrom(address from, address to, uint256 tokenId, bytes memory data) public {
        transferFrom(from, to, tokenId);
        if (to.code.length == 0) return;
        bytes4 answer = IBep721Receiver(to).onERC721Received(msg.sender, from, tokenId, data);
        if (answer != IBep721Receiver.onERC721Received.selector) revert ReceiverRefuses(to);
    }

    function _requireAllowed(address holder, uint256 tokenId) private view {
        bool allowed = msg.sender == holder || msg.sender == getApproved[tokenId] || isApprovedForAll[holder][msg.sender];
        if (!allowed) revert NotAllowed(msg.sender, tokenId);
    }
}
