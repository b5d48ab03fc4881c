// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// The function table of a diamond, in its own storage slot.
library Routing {
    struct Table {
        bytes4[] selectors;
        mapping(bytes4 => address) facetOf;
    }

    function table() internal pure returns (Table storage own) {
        bytes32 place = keccak256("diamond.routing");
        assembly {
            own.slot := place
        }
    }

    function set(address facet, bytes4[] calldata selectors) internal {
        Table storage own = table();
        for (uint256 i = 0; i < selectors.length; i++) {
            if (own.facetOf[selectors[i]] == address(0)) own.selectors.push(selectors[i]);
            own.facetOf[selectors[i]] = facet;
        }
    }
}

/// Delegates every call.
abstract contract Delegating {
    function delegate(address to) internal {
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), to, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(ok) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}

/// EIP-2535, without owners: anyone may cut it.
contract Diamond is Delegating {
    function cut(address facet, bytes4[] calldata selectors) external {
        Routing.set(facet, selectors);
    }

    fallback() external payable {
        address facet = Routing.table().facetOf[msg.sig];
        require(facet != address(0), "no such function");
        delegate(facet);
    }
}

/// With a placeholder in the EIP-1967 slot, for explorers that support only that.
contract PlaceholderDiamond is Diamond {
    constructor(address placeholder) {
        assembly {
            sstore(0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc, placeholder)
        }
    }
}

/// An EIP-1967 proxy.
contract FrontProxy is Delegating {
    bytes32 private constant PLACE = 0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc;

    constructor(address implementation) {
        assembly {
            sstore(PLACE, implementation)
        }
    }

    fallback() external payable {
        address implementation;
        assembly {
            implementation := sload(PLACE)
        }
        delegate(implementation);
    }
}

contract LoupeFacet {
    struct Facet {
        address facetAddress;
        bytes4[] functionSelectors;
    }

    function facets() external view returns (Facet[] memory all) {
        address[] memory addresses = facetAddresses();
        all = new Facet[](addresses.length);
        for (uint256 i = 0; i < all.length; i++) {
            all[i] = Facet(addresses[i], facetFunctionSelectors(addresses[i]));
        }
    }

    function facetFunctionSelectors(address facet) public view returns (bytes4[] memory found) {
        Routing.Table storage own = Routing.table();
        uint256 count = 0;
        found = new bytes4[](own.selectors.length);
        for (uint256 i = 0; i < own.selectors.length; i++) {
            if (own.facetOf[own.selectors[i]] == facet) found[count++] = own.selectors[i];
        }
        assembly {
            mstore(found, count)
        }
    }

    function facetAddresses() public view returns (address[] memory found) {
        Routing.Table storage own = Routing.table();
        uint256 count = 0;
        found = new address[](own.selectors.length);
        for (uint256 i = 0; i < own.selectors.length; i++) {
            address facet = own.facetOf[own.selectors[i]];
            uint256 j = 0;
            while (j < count && found[j] != facet) j++;
            if (j == count) found[count++] = facet;
        }
        assembly {
            mstore(found, count)
        }
    }

    function facetAddress(bytes4 selector) external view returns (address) {
        return Routing.table().facetOf[selector];
    }
}

/// Counts for its diamond.
contract CounterFacet {
    event Counted(address indexed by, uint256 newTotal);
    error TooMuch(uint256 limit);

    uint256 internal sum;

    function count(uint256 amount) external {
        if (amount > 1000) revert TooMuch(1000);
        sum += amount;
        emit Counted(msg.sender, sum);
    }

    function total() external view returns (uint256 newTotal) {
        return sum;
    }

    function sender() external view returns (address) {
        return msg.sender;
    }

    function limited(uint256 amount) external pure {
        if (amount > 1000) revert TooMuch(1000);
    }

    /// No diamond of the tests routes this function.
    function hidden() external pure returns (uint256) {
        return 1;
    }
}

/// Another facet with the same function names.
contract DoublingFacet {
    uint256 internal sum;

    function total() external view returns (uint256 plain, uint256 doubled) {
        return (sum, 2 * sum);
    }

    function total(uint256 factor) external view returns (uint256) {
        return factor * sum;
    }
}

/// Returns configured bytes for every selector, including the loupe.
contract FalseDiamond is Delegating {
    mapping(bytes4 => bytes) private answers;

    function say(bytes4 selector, bytes calldata answer) external {
        answers[selector] = answer;
    }

    function honest() external pure returns (bool) {
        return false;
    }

    fallback() external payable {
        bytes memory answer = answers[msg.sig];
        if (answer.length == 0) delegate(address(0));
        assembly {
            return(add(answer, 32), mload(answer))
        }
    }
}

/// Its list never ends, and it returns as many addresses as the gas allows.
contract EndlessDiamond is Delegating {
    function harmless() external pure returns (uint256) {
        return 7;
    }

    fallback() external payable {
        if (msg.sig == LoupeFacet.facets.selector) {
            while (true) {}
        }
        if (msg.sig == LoupeFacet.facetAddresses.selector) {
            assembly {
                mstore(0, 32)
                mstore(32, 100000)
                return(0, 3200064)
            }
        }
        delegate(address(0));
    }
}
