// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// The base of the unusual coins below.
abstract contract Ledger {
    event Transfer(address indexed from, address indexed to, uint256 value);

    mapping(address => uint256) public balanceOf;

    function move(address from, address to, uint256 value) internal {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// Like WETH: deposits and withdrawals change balances without a Transfer.
contract WrappedCoin is Ledger {
    event Deposit(address indexed dst, uint256 wad);
    event Withdrawal(address indexed src, uint256 wad);

    string public name = "Wrapped Coin";
    string public symbol = "WRAP";
    uint8 public decimals = 18;

    receive() external payable {
        deposit();
    }

    function deposit() public payable {
        balanceOf[msg.sender] += msg.value;
        emit Deposit(msg.sender, msg.value);
    }

    function withdraw(uint256 wad) external {
        balanceOf[msg.sender] -= wad;
        payable(msg.sender).transfer(wad);
        emit Withdrawal(msg.sender, wad);
    }

    function totalSupply() external view returns (uint256) {
        return address(this).balance;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }
}

/// Takes a fee of 1 % of every transfer without an event.
contract SilentFeeCoin is Ledger {
    string public name = "Silent Fee";
    string public symbol = "HUSH";
    uint8 public decimals = 9;
    uint256 public totalSupply = 1e18;
    address public immutable collector;

    constructor(address collector_) {
        collector = collector_;
        balanceOf[msg.sender] = totalSupply;
        emit Transfer(address(0), msg.sender, totalSupply);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        uint256 fee = value / 100;
        balanceOf[to] -= fee;
        balanceOf[collector] += fee;
        return true;
    }
}

/// Its name and symbol are bytes32, as in early coins.
contract Bytes32Coin is Ledger {
    bytes32 public constant name = "Ancient Coin";
    bytes32 public constant symbol = "OLD";
    uint256 public constant decimals = 18;
    uint256 public totalSupply = 5_000;

    constructor() {
        balanceOf[msg.sender] = totalSupply;
        emit Transfer(address(0), msg.sender, totalSupply);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }
}

/// NFTs with the events of a draft of the standard.
abstract contract EarlyPieces {
    mapping(uint256 => address) public ownerOf;
    mapping(address => uint256) public balanceOf;
    uint256 public totalSupply;

    function supportsInterface(bytes4 id) external view returns (bool) {
        return id == 0x01ffc9a7 || id == interfaceOfPieces();
    }

    function mint(address to, uint256 id) external {
        require(ownerOf[id] == address(0));
        totalSupply++;
        give(address(0), to, id);
    }

    function transfer(address to, uint256 id) external {
        require(ownerOf[id] == msg.sender);
        balanceOf[msg.sender]--;
        give(msg.sender, to, id);
    }

    function give(address from, address to, uint256 id) private {
        ownerOf[id] = to;
        balanceOf[to]++;
        tell(from, to, id);
    }

    function interfaceOfPieces() internal view virtual returns (bytes4);

    function tell(address from, address to, uint256 id) internal virtual;
}

/// No event field is indexed, and the interface id is that of the draft.
contract UnindexedPieces is EarlyPieces {
    event Transfer(address from, address to, uint256 tokenId);

    string public name = "Unindexed Pieces";
    string public symbol = "UNIX";

    function interfaceOfPieces() internal pure override returns (bytes4) {
        return 0x9a20483d;
    }

    function tell(address from, address to, uint256 id) internal override {
        emit Transfer(from, to, id);
    }
}

/// The id is not indexed, so the log looks like an ERC-20 transfer.
contract HalfIndexedPieces is EarlyPieces {
    event Transfer(address indexed from, address indexed to, uint256 tokenId);

    string public name = "Half Indexed Pieces";
    string public symbol = "HALF";

    function interfaceOfPieces() internal pure override returns (bytes4) {
        return 0x80ac58cd;
    }

    function tell(address from, address to, uint256 id) internal override {
        emit Transfer(from, to, id);
    }
}

/// Logs its call data: the number of topics in the first byte, the topics, the rest as data.
contract Megaphone {
    fallback() external {
        assembly {
            let count := byte(0, calldataload(0))
            let start := add(1, mul(32, count))
            let size := sub(calldatasize(), start)
            calldatacopy(0, start, size)
            switch count
            case 0 { log0(0, size) }
            case 1 { log1(0, size, calldataload(1)) }
            case 2 { log2(0, size, calldataload(1), calldataload(33)) }
            case 3 { log3(0, size, calldataload(1), calldataload(33), calldataload(65)) }
            default { log4(0, size, calldataload(1), calldataload(33), calldataload(65), calldataload(97)) }
        }
    }
}
