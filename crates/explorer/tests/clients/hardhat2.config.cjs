// A project that is verified with Hardhat 2 and its plugin 2 on a chain that only this explorer knows.
require('@nomicfoundation/hardhat-verify');
const { subtask } = require('hardhat/config');
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names');

const { CHAIN_RPC, EXPLORER_URL, SOLJSON } = process.env;

// Compilers are not downloaded in tests.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: SOLJSON,
  isSolcJs: true,
  version: '0.8.20',
  longVersion: '0.8.20+commit.a1b79de6',
}));

module.exports = {
  solidity: { version: '0.8.20', settings: { optimizer: { enabled: true, runs: 200 }, evmVersion: 'paris' } },
  networks: { live: { url: CHAIN_RPC } },
  etherscan: {
    apiKey: { live: 'placeholder' },
    customChains: [
      { network: 'live', chainId: 4242, urls: { apiURL: `${EXPLORER_URL}/api`, browserURL: EXPLORER_URL } },
    ],
  },
  sourcify: { enabled: false },
};
