// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Coin} from "./Standard.sol";

/// The implementation of clones: a coin that is initialized by a call.
contract CloneableCoin is ERC20 {
    string private ownName;

    constructor() ERC20("", "CLONE") {}

    function setUp(address to, uint256 amount) external {
        ownName = "A Clone";
        _mint(to, amount);
    }

    function name() public view override returns (string memory) {
        return ownName;
    }
}

contract CloneMaker {
    address public immutable master = address(new CloneableCoin());

    function make(uint256 amount) external returns (address clone) {
        clone = Clones.clone(master);
        CloneableCoin(clone).setUp(msg.sender, amount);
    }

    function makeAt(bytes32 salt, uint256 amount) external returns (address clone) {
        clone = Clones.cloneDeterministic(master, salt);
        CloneableCoin(clone).setUp(msg.sender, amount);
    }

    /// A contract that does nothing.
    function makeSilent(bytes32 salt) external returns (address) {
        return Clones.cloneDeterministic(master, salt);
    }

    /// Creates one and reverts it, inside a call that succeeds.
    function makeNone(bytes32 salt) external {
        try this.makeAndFail(salt) {} catch {}
    }

    function makeAndFail(bytes32 salt) external {
        Clones.cloneDeterministic(master, salt);
        revert("no");
    }
}

contract Create2Maker {
    function make(bytes32 salt) external returns (address coin) {
        coin = Create2.deploy(0, salt, type(Coin).creationCode);
        Coin(coin).transfer(msg.sender, 1_000 ether);
    }
}
