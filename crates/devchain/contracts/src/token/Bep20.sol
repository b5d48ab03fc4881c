// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// Balances, allowances, mint and burn of a fungible token.
/// Metadata is left to the tokens: how they answer name(), symbol() and decimals() is where they differ.
abstract contract Bep20 {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    error InsufficientBalance(address holder, uint256 balance, uint256 needed);
    error InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
    error ZeroAddress();

    uint256 public totalSupply;
    mapping(address holder => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    function transfer(address to, uint256 value) external returns (bool) {
        _transfer(msg.sender, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        // The largest number stands for "for ever" and is not used up.
        if (allowed != type(uint256).max) {
            if (allowed < value) revert InsufficientAllowance(msg.sender, allowed, value);
            allowance[from][msg.sender] = allowed - value;
        }
        _transfer(from, to, value);
        return true;
    }

    function _transfer(address from, address to, uint256 value) internal virtual {
        if (to == address(0)) revert ZeroAddress();
        _take(from, value);
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }

    function _mint(address to, uint256 value) internal {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function _burn(address from, uint256 value) internal {
        _take(from, value);
        totalSupply -= value;
        emit Transfer(from, address(0), value);
    }

    function _take(address from, uint256 value) internal {
        uint256 balance = balanceOf[from];
        if (balance < value) revert InsufficientBalance(from, balance, value);
        balanceOf[from] = balance - value;
    }
}

/// A token whose deployer mints; anyone may burn what is theirs.
abstract contract MintableBep20 is Bep20 {
    error NotTheOwner(address caller);

    address public immutable owner = msg.sender;

    function mint(address to, uint256 value) external {
        if (msg.sender != owner) revert NotTheOwner(msg.sender);
        _mint(to, value);
    }

    function burn(uint256 value) external {
        _burn(msg.sender, value);
    }
}
