//! The ABIs of the contracts.

use alloy_sol_types::sol;

sol! {
    interface Bep20 {
        event Transfer(address indexed from, address indexed to, uint256 value);
        event Approval(address indexed owner, address indexed spender, uint256 value);

        function name() external view returns (string);
        function decimals() external view returns (uint8);
        function totalSupply() external view returns (uint256);
        function balanceOf(address holder) external view returns (uint256);
        function allowance(address owner, address spender) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
        function approve(address spender, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
        function mint(address to, uint256 value) external;
        function burn(uint256 value) external;
    }

    interface WrappedCoin {
        event Deposit(address indexed dst, uint256 wad);
        event Withdrawal(address indexed src, uint256 wad);

        function deposit() external payable;
        function withdraw(uint256 wad) external;
    }

    interface Collectible {
        event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
        event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);
        event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

        function lastId() external view returns (uint256);
        function ownerOf(uint256 tokenId) external view returns (address);
        function supportsInterface(bytes4 id) external view returns (bool);
        function mint(address to) external returns (uint256);
        function burn(uint256 tokenId) external;
        function approve(address approved, uint256 tokenId) external;
        function transferFrom(address from, address to, uint256 tokenId) external;
        function safeTransferFrom(address from, address to, uint256 tokenId) external;
        function setApprovalForAll(address operator, bool approved) external;
    }

    interface GameItems {
        event TransferSingle(
            address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value
        );
        event TransferBatch(
            address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values
        );

        function balanceOf(address holder, uint256 id) external view returns (uint256);
        function supportsInterface(bytes4 id) external view returns (bool);
        function mint(address to, uint256 id, uint256 value) external;
        function mintBatch(address to, uint256[] ids, uint256[] values) external;
        function burn(address from, uint256 id, uint256 value) external;
        function burnBatch(address from, uint256[] ids, uint256[] values) external;
        function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data) external;
        function safeBatchTransferFrom(
            address from, address to, uint256[] ids, uint256[] values, bytes data
        ) external;
    }

    interface V2Factory {
        event PairCreated(address indexed token0, address indexed token1, address pair, uint256 count);

        function getPair(address tokenA, address tokenB) external view returns (address);
        function createPair(address tokenA, address tokenB) external returns (address);
    }

    interface V2Pair {
        event Mint(address indexed sender, uint256 amount0, uint256 amount1);
        event Burn(address indexed sender, uint256 amount0, uint256 amount1, address indexed to);
        event Swap(
            address indexed sender,
            uint256 amount0In,
            uint256 amount1In,
            uint256 amount0Out,
            uint256 amount1Out,
            address indexed to
        );
        event Sync(uint112 reserve0, uint112 reserve1);

        function factory() external view returns (address);
        function token0() external view returns (address);
        function token1() external view returns (address);
        function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 changedAt);
    }

    interface V2Router {
        function addLiquidity(
            address tokenA,
            address tokenB,
            uint256 amountADesired,
            uint256 amountBDesired,
            uint256 amountAMin,
            uint256 amountBMin,
            address to,
            uint256 deadline
        ) external returns (uint256 amountA, uint256 amountB, uint256 liquidity);
        function removeLiquidity(
            address tokenA,
            address tokenB,
            uint256 liquidity,
            uint256 amountAMin,
            uint256 amountBMin,
            address to,
            uint256 deadline
        ) external returns (uint256 amountA, uint256 amountB);
        function swapExactTokensForTokens(
            uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline
        ) external returns (uint256[] amounts);
        function swapExactETHForTokens(
            uint256 amountOutMin, address[] path, address to, uint256 deadline
        ) external payable returns (uint256[] amounts);
        function swapExactTokensForETH(
            uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline
        ) external returns (uint256[] amounts);
        function getAmountsOut(uint256 amountIn, address[] path) external view returns (uint256[] amounts);
    }

    interface V3Factory {
        event PoolCreated(
            address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool
        );

        function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address);
        function createPool(address tokenA, address tokenB, uint24 fee) external returns (address);
    }

    interface V3Pool {
        event Initialize(uint160 sqrtPriceX96, int24 tick);
        event Mint(
            address sender,
            address indexed owner,
            int24 indexed tickLower,
            int24 indexed tickUpper,
            uint128 amount,
            uint256 amount0,
            uint256 amount1
        );
        event Swap(
            address indexed sender,
            address indexed recipient,
            int256 amount0,
            int256 amount1,
            uint160 sqrtPriceX96,
            uint128 liquidity,
            int24 tick
        );

        function factory() external view returns (address);
        function token0() external view returns (address);
        function token1() external view returns (address);
        function fee() external view returns (uint24);
        function liquidity() external view returns (uint128);
        function initialize(uint160 sqrtPriceX96) external;
        function mint(address owner, uint128 amount) external returns (uint256 amount0, uint256 amount1);
        function swap(
            address recipient, bool zeroForOne, uint256 amountIn
        ) external returns (int256 amount0, int256 amount1);
    }

    interface LookAlikeSwap {
        function pretend(uint256 amountIn, uint256 amountOut, address to) external;
    }

    interface Nursery {
        event Born(address indexed child);

        function create() external returns (address);
        function create2(bytes32 salt) external returns (address);
        function clone(address original) external returns (address);
        function clone2(address original, bytes32 salt) external returns (address);
    }

    interface Counter {
        event Counted(address indexed by, uint256 number);

        function increment() external;
    }

    interface Vault {
        event Stored(address indexed owner, uint256 amount);
        event TakenOut(address indexed owner, address indexed to, uint256 amount);

        function stored(address owner) external view returns (uint256);
        function store() external payable;
        function takeOut(address to, uint256 amount) external;
    }

    interface Payroll {
        event Paid(address indexed account, uint256 amount, string memo);

        function initialize(address captain) external;
        function enlist(address account, string name) external;
        function payday(string memo) external payable;
        function paydays() external view returns (uint256);
    }

    interface Failing {
        function withMessage(uint256 amount) external pure;
        function withCustomError(uint256 code) external view;
        function withoutReason() external pure;
        function withAssert(uint256 number) external pure;
        function withOverflow(uint256 number) external pure returns (uint256);
        function withDivision(uint256 number) external view returns (uint256);
        function withIndex(uint256 index) external view returns (uint256);
        function withoutEnd() external pure returns (uint256);
    }
}
