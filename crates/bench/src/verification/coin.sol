// SPDX-License-Identifier: MIT
pragma solidity >=0.5.0;

library Sums {
    function plus(uint256 a, uint256 b) internal pure returns (uint256 c) {
        c = a + b;
        require(c >= a, "overflow");
    }

    function minus(uint256 a, uint256 b) internal pure returns (uint256) {
        require(b <= a, "underflow");
        return a - b;
    }
}

contract Coin {
    using Sums for uint256;

    string public name = "Coin";
    string public symbol = "COIN";
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(uint256 supply) public {
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] = allowance[from][msg.sender].minus(value);
        move(from, to, value);
        return true;
    }

    function move(address from, address to, uint256 value) internal {
        balanceOf[from] = balanceOf[from].minus(value);
        balanceOf[to] = balanceOf[to].plus(value);
        emit Transfer(from, to, value);
    }
}
