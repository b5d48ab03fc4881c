pragma solidity >=0.4.11;

contract Child {
    uint256 public born = 7;
}

library Births {
    function birth() internal returns (address) {
        return address(new Child());
    }
}

contract Maker {
    address public last;

    function make() public returns (address) {
        last = Births.birth();
        return last;
    }
}
