// Gets an API key with a wallet library, as documented.
//
//   node create_key.mjs <viem|ethers|viem-erc6492> <base URL> <private key> [<wallet> <factory> <factory call>]
//
// Prints the status and the body of the response as JSON.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// ./test installs the libraries into this folder.
const require = createRequire(join(process.env.EXPLORER_TEST_CLIENTS, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));

const [library, base, privateKey, wallet, factory, factoryCall] = process.argv.slice(2);

const text = (address, timestamp) => `Explorer API Key Request\nAddress: ${address.toLowerCase()}\nTimestamp: ${timestamp}`;

const libraries = {
  async viem(timestamp) {
    const { privateKeyToAccount } = await load("viem/accounts");
    const account = privateKeyToAccount(privateKey);
    return { owner: account.address, signature: await account.signMessage({ message: text(account.address, timestamp) }) };
  },
  async ethers(timestamp) {
    const { Wallet } = await load("ethers");
    const signer = new Wallet(privateKey);
    return { owner: signer.address, signature: await signer.signMessage(text(signer.address, timestamp)) };
  },
  async "viem-erc6492"(timestamp) {
    const { privateKeyToAccount } = await load("viem/accounts");
    const { serializeErc6492Signature } = await load("viem");
    const inner = await privateKeyToAccount(privateKey).signMessage({ message: text(wallet, timestamp) });
    return { owner: wallet, signature: serializeErc6492Signature({ address: factory, data: factoryCall, signature: inner }) };
  },
};

const timestamp = Date.now();
const { owner, signature } = await libraries[library](timestamp);
const response = await fetch(`${base}/api/v1/keys`, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ ownerAddress: owner, label: library, signature, timestamp }),
});
console.log(JSON.stringify({ status: response.status, owner: owner.toLowerCase(), signature, body: await response.json() }));
