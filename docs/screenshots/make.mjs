// Takes the pictures of this folder from a running demo:
//
//   cargo run --release -- demo --anonymous-requests-per-minute 0
//   (cd somewhere && npm install playwright-core) and then, with NODE_PATH pointing there,
//   node docs/screenshots/make.mjs http://127.0.0.1:3000
//
// CHROMIUM_BIN says which browser to use.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(process.env.NODE_PATH ?? folder, "here.js"));
const { chromium } = require("playwright-core");

const base = process.argv[2] ?? "http://127.0.0.1:3000";
const query = async (entity) => {
  const body = JSON.stringify({ entity, limit: 1 });
  const answer = await fetch(`${base}/api/v1/query`, { method: "POST", headers: { "content-type": "application/json" }, body });
  return (await answer.json()).data[0];
};
const [trade, token] = [await query("dex_trades"), await query("tokens")];
// The home page of the demo says what to try.
const [, impostor] = (await (await fetch(base)).text()).match(/href="([^"]+)"[^>]*>An impostor</);

const pictures = [
  { name: "home", path: "/" },
  { name: "transaction-dark", path: `/tx/${trade.txHash}`, colorScheme: "dark" },
  { name: "address", path: `/address/${trade.maker}` },
  { name: "token-holders", path: `/token/${token.address}?tab=holders` },
  { name: "trades", path: "/trades" },
  { name: "impostor", path: impostor },
  { name: "home-phone", path: "/", viewport: { width: 390, height: 844 } },
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const { name, path, colorScheme = "light", viewport = { width: 1280, height: 800 } } of pictures) {
  const context = await browser.newContext({ viewport, colorScheme });
  const page = await context.newPage();
  await page.goto(base + path);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
}
await browser.close();
