// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

interface IBep1155Receiver {
    function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes calldata data)
        external
        returns (bytes4);
    function onERC1155BatchReceived(
        address operator,
        address from,
        uint256[] calldata ids,
        uint256[] calldata values,
        bytes calldata data
    ) external returns (bytes4);
}

/// A multi token: many ids, each with any supply. Anyone mints.
contract GameItems {
    event TransferSingle(
        address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value
    );
    event TransferBatch(
        address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values
    );
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);
    event URI(string value, uint256 indexed id);

    error InsufficientBalance(address holder, uint256 id, uint256 balance, uint256 needed);
    error LengthsDiffer(uint256 ids, uint256 values);
    error NotAllowed(address caller, address holder);
    error ReceiverRefuses(address to);
    error ZeroAddress();

    string public constant name = "Game Items";
    string public constant symbol = "ITEM";

    mapping(address holder => mapping(uint256 id => uint256)) private _balance;
    mapping(address owner => mapping(address operator => bool)) public isApprovedForAll;

    function supportsInterface(bytes4 id) external pure returns (bool) {
        // ERC-165 itself, ERC-1155, ERC-1155 metadata.
        return id == 0x01ffc9a7 || id == 0xd9b67a26 || id == 0x0e89341c;
    }

    function uri(uint256) external pure returns (string memory) {
        return "data:application/json,{\"name\":\"Item {id}\"}";
    }

    function balanceOf(address holder, uint256 id) external view returns (uint256) {
        return _balance[holder][id];
    }

    function balanceOfBatch(address[] calldata holders, uint256[] calldata ids)
        external
        view
        returns (uint256[] memory balances)
    {
        _requireSameLength(holders.length, ids.length);
        balances = new uint256[](ids.length);
        for (uint256 i = 0; i < ids.length; ++i) balances[i] = _balance[holders[i]][ids[i]];
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    function mint(address to, uint256 id, uint256 value) external {
        _move(address(0), to, id, value);
        emit TransferSingle(msg.sender, address(0), to, id, value);
    }

    function mintBatch(address to, uint256[] calldata ids, uint256[] calldata values) external {
        _moveAll(address(0), to, ids, values);
        emit TransferBatch(msg.sender, address(0), to, ids, values);
    }

    function burn(address from, uint256 id, uint256 value) external {
        _requireAllowed(from);
        _move(from, address(0), id, value);
        emit TransferSingle(msg.sender, from, address(0), id, value);
    }

    function burnBatch(address from, uint256[] calldata ids, uint256[] calldata values) external {
        _requireAllowed(from);
        _moveAll(from, address(0), ids, values);
        emit TransferBatch(msg.sender, from, address(0), ids, values);
    }

    function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes calldata data) external {
        _requireAllowed(from);
        if (to == address(0)) revert ZeroAddress();
        _move(from, to, id, value);
        emit TransferSingle(msg.sender, from, to, id, value);
        if (to.code.length == 0) return;
        bytes4 answer = IBep1155Receiver(to).onERC1155Received(msg.sender, from, id, value, data);
        if (answer != IBep1155Receiver.onERC1155Received.selector) revert ReceiverRefuses(to);
    }

    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] calldata ids,
        uint256[] calldata values,
        bytes calldata data
    ) external {
        _requireAllowed(from);
        if (to == address(0)) revert ZeroAddress();
        _moveAll(from, to, ids, values);
        emit TransferBatch(msg.sender, from, to, ids, values);
        if (to.code.length == 0) return;
        bytes4 answer = IBep1155Receiver(to).onERC1155BatchReceived(msg.sender, from, ids, values, data);
        if (answer != IBep1155Receiver.onERC1155BatchReceived.selector) revert ReceiverRefuses(to);
    }

    function _moveAll(address from, address to, uint256[] calldata ids, uint256[] calldata values) private {
        _requireSameLength(ids.length, values.length);
        for (uint256 i = 0; i < ids.length; ++i) _move(from, to, ids[i], values[i]);
    }

    /// The zero address stands for "nowhere": from it is a mint, to it a burn.
    function _move(address from, address to, uint256 id, uint256 value) private {
        if (from != address(0)) {
            uint256 balance = _balance[from][id];
            if (balance < value) revert InsufficientBalance(from, id, balance, value);
            _balance[from][id] = balance - value;
        }
        if (to != address(0)) _balance[to][id] += value;
    }

    function _requireAllowed(address holder) private view {
        if (msg.sender != holder && !isApprovedForAll[holder][msg.sender]) revert NotAllowed(msg.sender, holder);
    }

    function _requireSameLength(uint256 ids, uint256 values) private pure {
        if (ids != values) revert LengthsDiffer(ids, values);
    }
}
