// Watches the state of the index on an open page while things happen to the node.
//
//   node state.mjs <base URL> <file to which each step that was seen is added>
//
// Prints the names of the passed scenarios as JSON; the first failure ends the run with its reason.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { pagesOf, run } from "./browser.mjs";

const [base, steps] = process.argv.slice(2);
const { open } = pagesOf(base);
const reached = (step) => appendFileSync(steps, `${step}\n`);

await run({
  "a page that is open follows the node": () =>
    // One that new blocks do not change.
    open("/verify", {}, async (page) => {
      const shows = (text, failing) =>
        page.waitForFunction(
          ([text, failing]) => document.querySelector("#health").textContent.includes(text) && document.querySelector("#state .dot").classList.contains("failing") === failing,
          [text, failing],
        );
      let loads = 0;
      page.on("load", () => (loads += 1));
      await shows("Synced", false);
      const tip = () => page.locator("#tip").textContent();
      assert.match(await tip(), /^Block 1, \d+ .* ago$/);
      const known = await page.locator("#state").getAttribute("data-chain");
      assert.match(known, /^\d+-0x[0-9a-f]{64}$/);
      reached("synced");
      await page.waitForFunction(() => document.querySelector("#tip").textContent.startsWith("Block 2, "));
      reached("next block");
      await shows("The node does not respond", true);
      reached("unreachable");
      await shows("Synced", false);
      assert.equal(loads, 0, "nothing of this took a reload");
      reached("back");
      await page.locator(".toast", { hasText: "The chain was reset." }).waitFor();
      await page.locator(".toast", { hasText: "This page shows the new one." }).waitFor();
      assert.equal(loads, 1);
      await shows("Synced", false);
      await page.waitForFunction(() => document.querySelector("#tip")?.textContent.startsWith("Block 3, "));
      assert.notEqual(await page.locator("#state").getAttribute("data-chain"), known);
    }),
});
