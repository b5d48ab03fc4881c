// Deploys a contract, verifies it through the form, calls it, sends a transaction, and reads the decoded transaction.
//
//   node verify.mjs <base URL> <URL of the node> <private key of a wallet with money>
//
// Prints the names of the passed scenarios as JSON; the first failure ends the run with its reason.
import assert from "node:assert/strict";
import { load, pagesOf, require, run } from "./browser.mjs";

const { createPublicClient, createWalletClient, defineChain, encodeDeployData, encodeFunctionData, http } = await load("viem");
const { privateKeyToAccount } = await load("viem/accounts");
const [base, rpc, privateKey] = process.argv.slice(2);
const { open, isAccessible, validates, fitsPhones } = pagesOf(base);

const version = "0.8.20";
const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Guests leave some words.
contract GuestBook {
    struct Entry { address guest; string words; uint256[] marks; }

    event Signed(address indexed guest, string indexed topic, uint256 number, string words);

    string public title;
    address[] private guests;
    string[] private words;

    constructor(string memory title_) {
        title = title_;
    }

    function sign(string calldata topic, Entry calldata entry) external {
        guests.push(entry.guest);
        words.push(entry.words);
        emit Signed(entry.guest, topic, words.length, entry.words);
    }

    struct Page { uint256 zeta; bool alpha; }

    function turn(bool back, uint256[] calldata marks, string calldata note)
        external
        view
        returns (address who, uint256[] memory, string memory said, Page memory page)
    {
        return (msg.sender, marks, note, Page(block.number, back));
    }

    function wordsOf(uint256 number) external view returns (address guest, string memory said) {
        return (guests[number - 1], words[number - 1]);
    }
}
`;
const words = "<b>Thank you</b> \u{1f984} \u202eeybdoog";

const solc = require(`solc-${version}`);
const input = {
  language: "Solidity",
  sources: { "GuestBook.sol": { content: source } },
  settings: { optimizer: { enabled: true, runs: 200 }, outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } } },
};
const { abi, evm } = JSON.parse(solc.compile(JSON.stringify(input))).contracts["GuestBook.sol"].GuestBook;

const account = privateKeyToAccount(privateKey);
const node = createPublicClient({ transport: http(rpc) });
const chain = defineChain({ id: await node.getChainId(), name: "test", nativeCurrency: { name: "", symbol: "", decimals: 18 }, rpcUrls: { default: { http: [rpc] } } });
const wallet = createWalletClient({ account, chain, transport: http(rpc) });

/// Signs here, sends the signed bytes, and waits until the explorer shows the transaction.
async function send(request) {
  const prepared = await wallet.prepareTransactionRequest({ ...request, account, chain });
  const hash = await node.sendRawTransaction({ serializedTransaction: await wallet.signTransaction(prepared) });
  const receipt = await node.waitForTransactionReceipt({ hash });
  for (let tries = 0; tries < 1_200 && (await fetch(`${base}/tx/${hash}`)).status !== 200; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return receipt;
}

const { contractAddress: contract } = await send({ data: encodeDeployData({ abi, bytecode: `0x${evm.bytecode.object}`, args: ["For friends"] }) });
const entry = { guest: account.address, words, marks: [7n, 8n] };
const signed = await send({ to: contract, data: encodeFunctionData({ abi, functionName: "sign", args: ["weather", entry] }) });
const pages = [`/tx/${signed.transactionHash}`, `/address/${contract}?tab=contract`, "/contracts", "/transactions"];

/// Opens the form of a function, fills in its arguments and asks.
const call = async (page, name, ...args) => {
  const form = page.locator("details.function", { has: page.locator("summary code", { hasText: new RegExp(`^${name}$`) }) });
  if ((await form.getAttribute("open")) === null) await form.locator("summary").click();
  for (const [place, text] of args.entries()) await form.locator("[data-arg]").nth(place).fill(text);
  await form.locator("[type=submit]").click();
  return form.locator(".note");
};

const fill = async (page, text) => {
  await page.fill("#compiler", version);
  await page.fill("#source", text);
  await page.click("#verify [type=submit]");
};

const scenarios = {
  "an unverified contract links to the form": () =>
    open(`/address/${contract}?tab=contract`, {}, async (page) => {
      await Promise.all([page.waitForURL("**/verify?*"), page.click("text=Verify it")]);
      assert.equal((await page.inputValue("#address")).toLowerCase(), contract.toLowerCase());
    }),

  "a wrong source is rejected with the reason": () =>
    open(`/verify?address=${contract}`, {}, async (page) => {
      await fill(page, source.replace("number - 1], words", "number - 2], words"));
      await page.locator("#verify .note.bad").waitFor();
      // The available versions are loaded when the field gets the focus.
      await page.locator(`#compilers option[value^="v${version}"]`).waitFor({ state: "attached" });
      assert.ok((await page.locator("#verify .note").textContent()).length > 40);
      await fill(page, "contract {");
      await page.locator("#verify .note.bad", { hasText: "ParserError" }).waitFor();
    }),

  "the right source is verified with progress shown, and links to the contract": () =>
    open(`/verify?address=${contract}`, {}, async (page) => {
      await fill(page, source);
      await page.locator("#verify .note", { hasText: /Working|Verifying/ }).waitFor();
      await page.locator("#verify .note.good").waitFor();
      await Promise.all([page.waitForURL("**/address/*"), page.click("text=See the contract")]);
      assert.equal(await page.locator("pre.source .k", { hasText: "contract" }).first().textContent(), "contract");
      assert.match(await page.locator("table.fields").textContent(), /title_[\s\S]*For friends/);
    }),

  "a contract is verified without JavaScript too": () =>
    // The browser logs the expected 400 to its console.
    open(`/verify?address=${contract}`, { javaScriptEnabled: false, expectedError: /400/ }, async (page) => {
      await Promise.all([page.waitForURL("**/verify-ui/jobs/*"), fill(page, source)]);
      for (let tries = 0; tries < 480 && (await page.locator("text=In progress").count()) > 0; tries += 1) {
        await page.waitForTimeout(500);
        await page.reload();
      }
      // Browsers send line breaks of forms as CR LF, which would be another source.
      assert.match(await page.locator("main").textContent(), /Source verified\s+Exact match/);
      await page.goto(`${base}/verify?address=${contract}`);
      await page.fill("#compiler", "nonsense");
      await page.fill("#source", source);
      await page.click("#verify [type=submit]");
      assert.match(await page.locator("main pre").textContent(), /compiler version/);
    }),

  "its functions are called in the page": () =>
    // The browser logs the expected 422 to its console.
    open(`/address/${contract}?tab=contract`, { expectedError: /422/ }, async (page) => {
      await (await call(page, "title")).locator("pre", { hasText: /^For friends$/ }).waitFor();
      const said = (await call(page, "wordsOf", "1")).locator("pre");
      await said.waitFor();
      assert.deepEqual(JSON.parse(await said.textContent()), { guest: account.address.toLowerCase(), said: words });
      await page.reload();
      const refused = await call(page, "wordsOf", "5");
      await refused.and(page.locator(".bad", { hasText: "index out of bounds" })).waitFor();
    }),

  "arguments are sent unchanged, and results shown in the order of the declaration": () =>
    // The browser logs the three expected responses with 400 to its console.
    open(`/address/${contract}?tab=contract`, { expectedError: /400/, times: 3 }, async (page) => {
      const largest = (2n ** 256n - 1n).toString();
      const block = Number(await node.getBlockNumber());
      await page.click("text=Sender and block");
      await page.fill("#call-from", account.address);
      await page.fill("#call-block", String(block));
      const said = (await call(page, "turn", "true", `[${largest}, 2]`, " [no list] ")).locator("pre");
      await said.waitFor();
      const expected = [
        `{`, `  "who": "${account.address.toLowerCase()}",`, `  "1": [`, `    "${largest}",`, `    "2"`, `  ],`, `  "said": " [no list] ",`,
        `  "page": {`, `    "zeta": "${block}",`, `    "alpha": true`, `  }`, `}`,
      ];
      assert.deepEqual((await said.textContent()).split("\n"), expected);
      const refused = async (text, ...args) =>
        (await call(page, "turn", ...args)).and(page.locator(".bad", { hasText: text })).waitFor();
      await refused("args[0] must be true or false", "yes", "[]", "");
      await refused("args[0] must be true or false", "", "[]", "");
      await refused("must be JSON", "true", "1, 2", "");
      await page.fill("#call-from", "me");
      await refused("The sender must be", "true", "[]", "");
    }),

  "a wallet signs a transaction of the form, which is followed until it is in a block": () =>
    open(`/address/${contract}?tab=contract`, {}, async (page) => {
      const asked = [];
      let chainId = 1;
      await page.exposeFunction("walletRequest", async ({ method, params }) => {
        asked.push(method);
        if (method === "eth_requestAccounts") return [account.address];
        if (method === "eth_chainId") return `0x${chainId.toString(16)}`;
        if (method === "wallet_switchEthereumChain") {
          chainId = Number(params[0].chainId);
          return null;
        }
        if (method === "eth_estimateGas") return node.request({ method, params });
        assert.equal(method, "eth_sendTransaction");
        const { to, data, value, gas } = params[0];
        const prepared = await wallet.prepareTransactionRequest({ account, chain, to, data, value: BigInt(value), gas: BigInt(gas) });
        return node.sendRawTransaction({ serializedTransaction: await wallet.signTransaction(prepared) });
      });
      // Two wallets: the user chooses.
      await page.evaluate(() => {
        const announce = (uuid, name, request) =>
          dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: { info: { uuid, name }, provider: { request } } }));
        announce("1", "Other", () => Promise.reject(new Error("not this one")));
        announce("2", "Signing wallet", (request) => window.walletRequest(request));
      });
      const said = "from a wallet";
      const note = await call(page, "sign", "today", JSON.stringify({ guest: account.address, words: said, marks: [] }));
      await page.click("dialog button:text('Signing wallet')");
      await note.and(page.locator(".good", { hasText: "Succeeded:" })).waitFor();
      assert.deepEqual(asked, ["eth_requestAccounts", "eth_chainId", "wallet_switchEthereumChain", "eth_chainId", "eth_estimateGas", "eth_sendTransaction"]);
      const { input } = await node.getTransaction({ hash: await note.locator("a").textContent() });
      assert.equal(input, encodeFunctionData({ abi, functionName: "sign", args: ["today", { guest: account.address, words: said, marks: [] }] }));
    }),

  "the source is copied as it was written": () =>
    open(`/address/${contract}?tab=contract`, { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
      await page.click("button[data-copy-of='code-1']");
      await page.locator("button.done").waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.equal(copied.trim(), source.trim());
    }),

  "a page makes more calls than the API allows without a key, and then asks for a key": async () => {
    const owner = account.address.toLowerCase();
    const timestamp = Date.now();
    const signature = await account.signMessage({ message: `Explorer API Key Request\nAddress: ${owner}\nTimestamp: ${timestamp}` });
    const created = await fetch(`${base}/api/v1/keys`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ ownerAddress: owner, label: "", signature, timestamp }) });
    const { key } = await created.json();
    // The browser logs the expected 429 to its console.
    await open(`/address/${contract}?tab=contract`, { expectedError: /429/ }, async (page) => {
      for (let times = 0; times < 15; times += 1) {
        const note = await call(page, "title");
        await note.locator("pre", { hasText: /^For friends$/ }).waitFor();
        await note.evaluate((element) => element.replaceChildren());
      }
      let isBusy = true;
      const post = () => fetch(`${base}/address/${contract}/call`, { method: "POST", body: new URLSearchParams({ function: "title" }) }).then((response) => response.text());
      const others = (async () => {
        while (isBusy) await Promise.all(Array.from({ length: 20 }, post));
      })();
      const form = page.locator("details.function", { has: page.locator("summary code", { hasText: /^title$/ }) });
      for (let times = 0; times < 100 && (await form.locator(".note.bad").count()) === 0; times += 1) {
        const note = await call(page, "title");
        await note.and(page.locator(".good, .bad")).waitFor();
        if ((await note.getAttribute("class")).includes("good")) await note.evaluate((element) => (element.className = "note"));
      }
      isBusy = false;
      await others;
      const told = await form.locator(".note.bad").textContent();
      assert.match(told, /enter an API key/);
      assert.doesNotMatch(told, /header|X-API-Key/i);
      await form.locator("input[name=key]").fill(key);
      await (await call(page, "title")).locator("pre", { hasText: /^For friends$/ }).waitFor();
    });
  },

  "the transaction is shown decoded and raw": () =>
    open(pages[0], {}, async (page) => {
      assert.equal(await page.locator(".facts .method").textContent(), "sign");
      assert.deepEqual(await page.locator(".signature").allTextContents(), [
        "sign(string,(address,string,uint256[]))",
        "Signed(address,string,uint256,string)",
      ]);
      const rows = (table) => table.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
      const [call, log] = [page.locator("table.fields").first(), page.locator(".log table.fields")];
      // Bidirectional control characters are removed; the rest is shown unchanged.
      const shown = words.replace("\u202e", "");
      const [topic, said] = await rows(call);
      assert.deepEqual(topic, ["topic", "string", "weather"]);
      assert.deepEqual(JSON.parse(said[2]), { guest: account.address.toLowerCase(), words: shown, marks: ["7", "8"] });
      const logged = await rows(log);
      assert.deepEqual(logged.map(([name]) => name), ["guest", "topic", "number", "words"]);
      assert.equal(logged[1][1], "string indexed, hash only");
      assert.deepEqual([logged[2][2], logged[3][2]], ["1", shown]);
      const raw = page.locator("pre[aria-label='Input data']");
      assert.equal(await raw.isVisible(), false);
      await page.click("text=Raw input");
      assert.match(await raw.textContent(), /^0x[0-9a-f]{8}/);
      await page.goto(`${base}/transactions`);
      assert.equal(await page.locator("tbody tr").first().locator(".method").textContent(), "sign");
    }),

  "the page works without JavaScript": () =>
    open(pages[0], { javaScriptEnabled: false }, async (page) => {
      assert.equal(await page.locator(".log table.fields tbody tr").count(), 4);
    }),

  "these pages fit a phone": () => fitsPhones(pages),

  "these pages are accessible": () => isAccessible(pages),

  "these pages are valid HTML": () => validates(pages),
};

await run(scenarios);
