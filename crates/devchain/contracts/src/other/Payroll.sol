// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// Pays a crew in equal shares, inside one call. Used behind a proxy, which has the storage.
contract Payroll {
    struct Member {
        address payable account;
        string name;
        uint256 paid;
    }

    event Enlisted(address indexed account, string name);
    event Paid(address indexed account, uint256 amount, string memo);

    error AlreadyInitialized(address captain);
    error NotTheCaptain(address caller);
    error NobodyToPay();
    error CoinNotAccepted(address receiver);

    /// Who enlists the crew.
    address public captain;
    uint256 public paydays;
    Member[] private _crew;

    function initialize(address captain_) external {
        if (captain != address(0)) revert AlreadyInitialized(captain);
        captain = captain_;
    }

    /// Everyone on board, with what they were paid so far.
    function crew() external view returns (Member[] memory) {
        return _crew;
    }

    function enlist(address payable account, string calldata name) external {
        if (msg.sender != captain) revert NotTheCaptain(msg.sender);
        _crew.push(Member(account, name, 0));
        emit Enlisted(account, name);
    }

    /// Divides the coins that come with the call. What cannot be divided stays here.
    function payday(string calldata memo) external payable {
        if (_crew.length == 0) revert NobodyToPay();
        uint256 share = msg.value / _crew.length;
        ++paydays;
        for (uint256 i = 0; i < _crew.length; ++i) {
            Member storage member = _crew[i];
            member.paid += share;
            emit Paid(member.account, share, memo);
            (bool accepted,) = member.account.call{value: share}("");
            if (!accepted) revert CoinNotAccepted(member.account);
        }
    }
}
