// Wallets in the browser, and transactions that they sign. Part of the same file as forms.js.

/// Wallets that announce themselves (EIP-6963).
const wallets = new Map();
addEventListener("eip6963:announceProvider", ({ detail }) => {
  if (detail?.info?.uuid && detail.provider) wallets.set(detail.info.uuid, detail);
});
dispatchEvent(new Event("eip6963:requestProvider"));

let chosenWallet = null;

/// The wallet to use, as a provider (EIP-1193). Asks which one if there are several.
async function wallet() {
  if (chosenWallet) return chosenWallet;
  const found = [...wallets.values()];
  chosenWallet = found.length > 1 ? await chooseWallet(found) : (found[0]?.provider ?? window.ethereum);
  if (!chosenWallet) throw new Error("No wallet found in this browser. Install one and load the page again.");
  return chosenWallet;
}

function chooseWallet(found) {
  return new Promise((resolve, reject) => {
    const dialog = element("dialog", { "aria-label": "Wallets" }, element("p", {}, "Which wallet?"));
    for (const { info, provider } of found) {
      dialog.append(button(String(info.name).slice(0, 40), () => {
        resolve(provider);
        dialog.close();
      }));
    }
    dialog.addEventListener("close", () => {
      dialog.remove();
      reject(new Error("No wallet was chosen."));
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

async function connect() {
  const [account] = await (await wallet()).request({ method: "eth_requestAccounts" });
  if (!account) throw new Error("The wallet returned no account.");
  return account.toLowerCase();
}

async function sign(account, message) {
  const bytes = "0x" + [...new TextEncoder().encode(message)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return (await wallet()).request({ method: "personal_sign", params: [bytes, account] });
}

/// Makes sure that the wallet is on the chain of this explorer.
async function useChain(provider, wanted) {
  const chainId = async () => Number(await provider.request({ method: "eth_chainId" }));
  if ((await chainId()) === wanted) return;
  try {
    await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: `0x${wanted.toString(16)}` }] });
  } catch {
    // Checked below.
  }
  const current = await chainId();
  if (current !== wanted) throw new Error(`The wallet is on chain ${current}, but this is chain ${wanted}. Switch the chain in the wallet.`);
}

/// Coins as typed, in wei.
function toWei(text) {
  const match = /^(\d+)(?:\.(\d{1,18}))?$/.exec(text.trim() || "0");
  if (!match) throw new Error("The coins to send are a number such as 1.5.");
  return BigInt(match[1]) * 10n ** 18n + BigInt((match[2] ?? "").padEnd(18, "0"));
}

/// Shows a transaction until it is in an indexed block.
async function followTransaction(note, hash) {
  const link = element("a", { href: `${BASE}/tx/${hash}` }, hash);
  const show = (text, kind) => {
    showNote(note, `${text} `, kind);
    note.append(link);
  };
  show("Sent. Waiting for a block …", "");
  for (let tries = 0; tries < 150; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const page = new DOMParser().parseFromString(await (await fetch(link.href)).text(), "text/html");
    const outcome = page.querySelector("[data-outcome]")?.dataset.outcome;
    if (outcome === "succeeded") return show("Succeeded:", "good");
    if (outcome === "failed") return show("Failed:", "bad");
  }
  show("It is not in a block yet:", "");
}

/// Forms of functions that need a transaction.
function writes() {
  document.querySelectorAll("form[data-write]").forEach((form) => {
    onSubmit(form, async (data, note) => {
      const args = `[${[...form.querySelectorAll("[data-arg]")].map(argument).join(",")}]`;
      const value = toWei(data.get("value") ?? "");
      const input = await (await sendForm(form.getAttribute("action"), { function: data.get("function"), args })).text();
      const provider = await wallet();
      const from = await connect();
      await useChain(provider, Number(form.dataset.chain));
      const transaction = { from, to: form.dataset.write, data: input, value: `0x${value.toString(16)}` };
      showNote(note, "Estimating the gas …");
      let gas;
      try {
        gas = BigInt(await provider.request({ method: "eth_estimateGas", params: [transaction] }));
      } catch (error) {
        throw new Error(`The transaction would fail: ${error.message}`);
      }
      showNote(note, `Confirm the transaction in the wallet. It takes about ${gas} gas.`);
      // A fifth more than estimated, since the state may change before it is in a block.
      const limit = `0x${((gas * 6n) / 5n).toString(16)}`;
      const hash = await provider.request({ method: "eth_sendTransaction", params: [{ ...transaction, gas: limit }] });
      await followTransaction(note, hash);
    });
  });
}

