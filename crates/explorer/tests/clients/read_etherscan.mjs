// Reads a chain through Etherscan's API with ethers and viem: the server, the chain id, a contract, an account, a transaction.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.EXPLORER_TEST_CLIENTS, 'package.json'));
const { EtherscanProvider, Network } = require('ethers');
const { createPublicClient, custom } = require('viem');
const [base, chainId, contract, account, hash] = process.argv.slice(2);

// Only the host is replaced.
class Provider extends EtherscanProvider {
  getUrl(module, params) {
    return super.getUrl(module, params).replace('https://api.etherscan.io', base);
  }
  getPostUrl() {
    return super.getPostUrl().replace('https://api.etherscan.io', base);
  }
}
const provider = new Provider(new Network('explorer', Number(chainId)), 'YourApiKeyToken');
const coin = await provider.getContract(contract);

const names = {
  eth_getBalance: async ([address]) => {
    const answer = await ask('account', 'balance', { address, tag: 'latest' });
    return `0x${BigInt(answer.result).toString(16)}`;
  },
  eth_call: async ([{ to, data }]) => (await ask('proxy', 'eth_call', { to, data, tag: 'latest' })).result,
  eth_blockNumber: async () => (await ask('proxy', 'eth_blockNumber', {})).result,
  eth_getTransactionReceipt: async ([txhash]) => (await ask('proxy', 'eth_getTransactionReceipt', { txhash })).result,
};
async function ask(module, action, params) {
  const query = new URLSearchParams({ chainid: chainId, module, action, ...params });
  return (await fetch(`${base}/v2/api?${query}`)).json();
}
const client = createPublicClient({ transport: custom({ request: ({ method, params }) => names[method](params) }) });

const abi = JSON.parse((await ask('contract', 'getabi', { address: contract })).result);
console.log(JSON.stringify({
  ethers: {
    block: await provider.getBlockNumber(),
    balance: String(await provider.getBalance(account)),
    total: String(await coin.total()),
    transaction: (await provider.getTransaction(hash)).hash,
    status: (await provider.getTransactionReceipt(hash)).status,
    code: (await provider.getCode(contract)).length,
  },
  viem: {
    block: Number(await client.getBlockNumber()),
    balance: String(await client.getBalance({ address: account })),
    total: String(await client.readContract({ address: contract, abi, functionName: 'total' })),
    status: (await client.getTransactionReceipt({ hash })).status,
  },
}));
