// A project that is verified with Hardhat 3 on a chain that only this explorer knows.
import verify from '@nomicfoundation/hardhat-verify';

const { CHAIN_RPC, EXPLORER_URL, SOLJSON } = process.env;

export default {
  plugins: [verify],
  solidity: {
    version: '0.8.20',
    path: SOLJSON,
    settings: { optimizer: { enabled: true, runs: 200 }, evmVersion: 'paris' },
  },
  networks: { live: { type: 'http', chainType: 'generic', url: CHAIN_RPC } },
  chainDescriptors: {
    4242: {
      name: 'live',
      chainType: 'generic',
      blockExplorers: {
        etherscan: { name: 'Explorer', url: EXPLORER_URL, apiUrl: `${EXPLORER_URL}/v2/api` },
        blockscout: { name: 'Explorer', url: EXPLORER_URL, apiUrl: `${EXPLORER_URL}/api` },
      },
    },
  },
  verify: {
    etherscan: { apiKey: 'placeholder' },
    blockscout: { enabled: true },
    sourcify: { enabled: true, apiUrl: `${EXPLORER_URL}/sourcify` },
  },
};
