// Uses the pages like a visitor, in a real browser.
//
//   node browse.mjs <base URL> <private key of a wallet>
//
// Prints the names of the passed scenarios as JSON; the first failure ends the run with its reason.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { LAN_HOST, load, pagesOf, run } from "./browser.mjs";

const { Wallet } = await load("ethers");
const [base, privateKey] = process.argv.slice(2);
const { open, isAccessible, validates, fitsPhones } = pagesOf(base);

const query = async (body) => {
  const answer = await fetch(`${base}/api/v1/query`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return answer.json();
};
const [trade] = (await query({ entity: "dex_trades", limit: 1 })).data;
const [token] = (await query({ entity: "tokens", limit: 1 })).data;
const [, , , block] = (await query({ entity: "blocks", limit: 4 })).data;

const everyPage = [
  "/", "/blocks", `/block/${block.number}`, `/block/${block.number}/header`, "/transactions", `/tx/${trade.txHash}`, `/tx/${trade.txHash}/calls`, `/tx/${trade.txHash}/state`, `/address/${trade.maker}`,
  `/address/${trade.maker}?tab=transfers`, `/address/${trade.maker}?tab=tokens`, `/address/${trade.maker}?tab=trades`, "/tokens", "/accounts",
  `/token/${token.address}`, `/token/${token.address}?tab=holders`, "/transfers", "/trades", "/charts", "/gas", `/address/${trade.maker}?direction=out&fromBlock=x`, "/contracts", "/verify", "/keys", "/webhooks", "/docs", "/search?q=",
];

const scenarios = {
  "a search for a hash, a number or an address opens its page": () =>
    open("/", {}, async (page) => {
      const goes = async (text, path) => {
        await page.keyboard.press("Escape");
        await page.locator("body").click({ position: { x: 2, y: 400 } });
        await page.keyboard.press("/");
        assert.equal(await page.evaluate(() => document.activeElement.id), "q", "the slash goes to the box");
        await page.fill("#q", text);
        await Promise.all([page.waitForURL(`**${path}`), page.keyboard.press("Enter")]);
      };
      await goes(trade.txHash, `/tx/${trade.txHash}`);
      await goes(String(block.number), `/block/${block.number}`);
      await goes(block.hash, `/block/${block.number}`);
      await goes(trade.maker, `/address/*`);
    }),

  "the search box suggests tokens": () =>
    open("/", {}, async (page) => {
      await page.locator("#q").pressSequentially(token.symbol.slice(0, 3).toLowerCase());
      const option = page.locator("#suggestions [role=option]", { hasText: token.symbol }).first();
      await option.waitFor();
      await page.keyboard.press("ArrowDown");
      assert.equal(await page.locator("#suggestions [aria-selected=true]").count(), 1);
      await Promise.all([page.waitForURL("**/token/*"), page.keyboard.press("Enter")]);
    }),

  "a list opens its last page and its first": () =>
    open(`/address/${trade.maker}`, {}, async (page) => {
      await page.click("a[rel=last]");
      const shown = await page.locator(".pager > .muted").first().textContent();
      const [, now, last] = shown.match(/page ([\d,]+) of ([\d,]+)/);
      assert.equal(now, last);
      assert.ok((await page.locator("#list tbody tr").count()) > 0);
      await page.click("a[rel=first]");
      await page.locator("text=page 1 of").waitFor();
    }),

  "a new block appears without a reload": () =>
    open("/", {}, async (page) => {
      await page.evaluate(() => (window.stillTheSame = true));
      const newest = () => page.locator("#blocks tbody tr").first().locator("td").first().textContent();
      const before = await newest();
      await page.waitForFunction((text) => document.querySelector("#blocks tbody td").textContent.trim() !== text, before.trim());
      assert.equal(await page.evaluate(() => window.stillTheSame), true);
    }),

  "a key is created with a wallet, listed and revoked": () =>
    open("/keys", {}, async (page) => {
      const wallet = new Wallet(privateKey);
      await page.exposeFunction("signForReal", (hex) => wallet.signMessage(Buffer.from(hex.slice(2), "hex")));
      await page.evaluate((address) => {
        window.ethereum = {
          request: async ({ method, params }) => (method === "eth_requestAccounts" ? [address] : window.signForReal(params[0])),
        };
      }, wallet.address);
      await page.fill("#key-label", "made in a browser");
      await page.click("#make-key [type=submit]");
      const key = await page.locator("#make-key .secret code").textContent();
      assert.match(key, /^expl_[0-9A-Za-z]{38}$/);
      const row = page.locator("#keys tbody tr", { hasText: "made in a browser" });
      await row.waitFor();
      page.once("dialog", (dialog) => dialog.dismiss());
      await row.locator("button").click();
      assert.equal(await row.locator("button").textContent(), "Revoke", "a dismissed question revokes nothing");
      page.once("dialog", (dialog) => dialog.accept());
      await row.locator("button").click();
      await page.locator("#keys tbody tr", { hasText: "revoked" }).waitFor();
    }),

  "a webhook is created and its delivery is shown": async () => {
    const received = [];
    const receiver = createServer((request, response) => {
      received.push(request.headers["x-explorer-event"]);
      request.resume().on("end", () => response.end("thanks"));
    });
    await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    try {
      await open("/webhooks", {}, async (page) => {
        await page.fill("#list-webhooks #owner", trade.maker);
        await page.fill("#url", `http://127.0.0.1:${receiver.address().port}/hook`);
        await page.click("#make-webhook [type=submit]");
        assert.match(await page.locator("#make-webhook .secret code").textContent(), /^whsec_/);
        const hook = page.locator("#webhooks article").first();
        await hook.getByRole("button", { name: "Ping" }).click();
        await page.locator("#list-webhooks .note.good").waitFor();
        const delivered = hook.locator(".deliveries tbody tr", { hasText: "200 in" }).first();
        for (let tries = 0; tries < 600 && !(await delivered.isVisible()); tries += 1) {
          await hook.getByRole("button", { name: "Deliveries" }).click();
          await page.waitForTimeout(300);
        }
        await delivered.waitFor();
        assert.ok(received.includes("ping"), received.join());
        page.once("dialog", (dialog) => dialog.dismiss());
        await hook.getByRole("button", { name: "Delete" }).click();
        await page.waitForTimeout(300);
        assert.equal(await page.locator("#webhooks article").count(), 1, "a dismissed question deletes nothing");
        page.once("dialog", (dialog) => dialog.accept());
        await hook.getByRole("button", { name: "Delete" }).click();
        await page.locator("#webhooks article").waitFor({ state: "detached" });
      });
    } finally {
      receiver.close();
    }
  },

  "a form with a key is never sent by GET, and cannot be sent without a script": async () => {
    for (const javaScriptEnabled of [true, false]) {
      for (const path of ["/keys", "/webhooks"]) {
        await open(path, { javaScriptEnabled }, async (page) => {
          const forms = await page.locator("form.form").evaluateAll((all) => all.map((form) => [form.method, form.querySelector("[type=submit]").disabled]));
          assert.deepEqual(forms, forms.map(() => ["post", !javaScriptEnabled]), path);
        });
      }
    }
    await open("/keys", { javaScriptEnabled: false }, async (page) => {
      await page.fill("#owner", trade.maker);
      await page.fill("#key", "expl_secret");
      await page.press("#key", "Enter");
      await page.waitForTimeout(300);
      assert.ok(!page.url().includes("expl_secret") && page.url().endsWith("/keys"), page.url());
      assert.ok(await page.locator("noscript").first().isVisible());
    });
  },

  "text is copied on plain http too, and a failure is shown": async () => {
    const lan = pagesOf(base.replace("127.0.0.1", LAN_HOST));
    await lan.open(`/tx/${trade.txHash}`, {}, async (page) => {
      assert.equal(await page.evaluate(() => navigator.clipboard), undefined, "the page is not trusted");
      const hash = page.locator(`[data-copy="${trade.txHash}"]`).first();
      await hash.click();
      await page.locator("[data-copy].done").waitFor();
      await page.focus("#q");
      await page.keyboard.press("Control+V");
      assert.equal(await page.inputValue("#q"), trade.txHash);
      await page.evaluate(() => (document.execCommand = () => false));
      await hash.click();
      await page.locator(".toast", { hasText: trade.txHash }).waitFor();
    });
  },

  "rows of lists are labelled cards on a phone": async () => {
    for (const path of ["/blocks", "/transactions", "/tokens", "/transfers", "/trades", `/token/${token.address}?tab=holders`, `/address/${trade.maker}`, `/address/${trade.maker}?tab=trades`, `/tx/${trade.txHash}`]) {
      await open(path, { viewport: { width: 390, height: 844 } }, async (page) => {
        const faults = await page.evaluate(() => {
          const wide = [...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.className);
          const cells = [...document.querySelectorAll(".cards tbody td")].filter((cell) => {
            const { left, right, height } = cell.getBoundingClientRect();
            const label = getComputedStyle(cell, "::before").content;
            return left < 0 || right > 390 || height === 0 || cell.scrollWidth > cell.clientWidth || label !== `"${cell.dataset.label}"`;
          });
          return [...wide, ...cells.map((cell) => cell.outerHTML)];
        });
        assert.deepEqual(faults, [], path);
        assert.ok((await page.locator(".cards tbody tr").count()) > 0, path);
      });
    }
  },

  "the supply of a token is complete on a phone": () =>
    open("/tokens", { viewport: { width: 390, height: 844 } }, async (page) => {
      const cells = page.locator("td[data-label=Supply] .num");
      for (const cell of await cells.all()) {
        const { x, width } = await cell.boundingBox();
        assert.ok(x >= 0 && x + width <= 390, `${x} ${width}`);
      }
      assert.ok((await cells.count()) > 0);
    }),

  "the selected tab and section are visible on a phone": async () => {
    for (const [path, bar] of [[`/address/${trade.maker}?tab=trades`, ".tabs"], [`/address/${token.address}?tab=contract`, ".tabs"], ["/webhooks", ".sections"]]) {
      await open(path, { viewport: { width: 390, height: 844 } }, async (page) => {
        const { x, width } = await page.locator(`${bar} [aria-current]`).boundingBox();
        assert.ok(x >= 0 && x + width <= 390, `${path}: ${x} ${width}`);
      });
    }
  },

  "a switch between tabs keeps the scroll position": () =>
    open(`/address/${trade.maker}`, { viewport: { width: 390, height: 600 } }, async (page) => {
      for (const tab of ["transfers", "trades"]) {
        await page.evaluate(() => scrollTo(0, 260));
        const before = await page.evaluate(() => scrollY);
        assert.ok(before > 200, `${before}`);
        await Promise.all([page.waitForURL(`**tab=${tab}`), page.locator(`.tabs a[href$='tab=${tab}']`).evaluate((link) => link.click())]);
        await page.waitForFunction((position) => Math.abs(scrollY - position) < 2, before);
      }
    }),

  "a chosen color scheme is kept": () =>
    open("/", { colorScheme: "light" }, async (page) => {
      const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await background();
      await page.click("[data-scheme]");
      const dark = await background();
      assert.notEqual(light, dark);
      await page.goto(`${base}/blocks`);
      assert.equal(await background(), dark);
      await page.goto(`${base}/docs`);
      assert.equal(await background(), dark);
    }),

  "exact times are shown on request, and stay": () =>
    open("/blocks", {}, async (page) => {
      const time = () => page.locator("td time").first().textContent();
      assert.match(await time(), / ago$/);
      await page.click("[data-times]");
      assert.match(await time(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
      await page.goto(`${base}/transactions`);
      assert.match(await time(), /^\d{4}-/);
      await page.click("[data-times]");
      assert.match(await time(), / ago$/);
    }),

  "the color scheme of the system is used": async () => {
    const backgrounds = [];
    for (const colorScheme of ["light", "dark"]) {
      await open("/", { colorScheme }, async (page) => backgrounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)));
    }
    assert.notEqual(backgrounds[0], backgrounds[1]);
  },

  "no page is wider than a phone": () => fitsPhones(everyPage),

  "no list clips a value at any width": async () => {
    for (const path of everyPage) {
      await open(path, {}, async (page) => {
        for (const width of [320, 390, 700, 1024, 1280, 1440, 1920, 2560]) {
          await page.setViewportSize({ width, height: 900 });
          const clipped = await page.evaluate(() => {
            const right = document.documentElement.clientWidth;
            const boxes = [...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => `${box.scrollWidth} > ${box.clientWidth}`);
            const cells = [...document.querySelectorAll("td, th, dd")].filter((cell) => {
              const { right: end, width: wide } = cell.getBoundingClientRect();
              return wide > 2 && (end > right + 1 || (cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).overflowX !== "visible"));
            });
            return [document.documentElement.scrollWidth > right ? "the page scrolls" : "", ...boxes, ...cells.slice(0, 3).map((cell) => cell.outerHTML.slice(0, 200))].filter(Boolean);
          });
          assert.deepEqual(clipped, [], `${path} at ${width}`);
        }
      });
    }
  },

  "the page of an API request is one click from any page, and requests can be tried": () =>
    open("/", {}, async (page) => {
      await Promise.all([page.waitForURL("**/docs"), page.click(".sections a[href$='/docs']")]);
      await page.locator("#get_stats form button").click();
      await page.locator("#get_stats .status.ok", { hasText: "200" }).first().waitFor();
    }),

  "every page works without JavaScript": async () => {
    for (const path of everyPage) {
      await open(path, { javaScriptEnabled: false }, async (page) => {
        assert.ok((await page.locator("main h1").count()) === 1, path);
      });
    }
    await open("/transactions", { javaScriptEnabled: false }, async (page) => {
      await page.click("a[rel=next]");
      assert.match(await page.locator(".pager > .muted").first().textContent(), /page 2 of/);
      await page.fill("#q", String(block.number));
      await Promise.all([page.waitForURL(`**/block/${block.number}`), page.press("#q", "Enter")]);
    });
  },

  "the values of a chart are shown to the keyboard and the pointer": () =>
    open("/charts", {}, async (page) => {
      const chart = page.locator(".chart").first();
      const shown = () => chart.locator(".value").textContent();
      assert.equal(await chart.locator("rect[tabindex='0']").count(), 1, "a chart is one stop");
      await chart.locator("rect").last().focus();
      const newest = await shown();
      assert.match(newest, /^\d{4}-\d\d-\d\d: [\d,]+$/);
      await page.keyboard.press("ArrowLeft");
      assert.notEqual(await shown(), newest);
      await page.keyboard.press("End");
      assert.equal(await shown(), newest);
      await page.keyboard.press("Tab");
      assert.equal(await shown(), "");
      await chart.locator("rect").first().hover();
      assert.match(await shown(), /^\d{4}-\d\d-\d\d: /);
    }),

  "the keyboard alone opens the page of a block": () =>
    open("/", {}, async (page) => {
      const focused = () => page.evaluate(() => document.activeElement.outerHTML.slice(0, 80));
      await page.keyboard.press("Tab");
      assert.match(await focused(), /class="skip"/, "the first stop skips the navigation");
      await page.keyboard.press("Enter");
      for (let presses = 0; presses < 300 && !/href="[^"]*\/block\/\d+"/.test(await focused()); presses += 1) await page.keyboard.press("Tab");
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.notEqual(outline, "none", "the focus is visible");
      await Promise.all([page.waitForURL("**/block/*"), page.keyboard.press("Enter")]);
    }),

  "no page has accessibility violations": () => isAccessible(everyPage),

  "the HTML of every page validates": () => validates([...everyPage, "/nothing-of-that-name"]),

  "the home page is small and has no layout shift": () =>
    open("/", {}, async (page) => {
      const bytes = await page.evaluate(() =>
        [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((sum, entry) => sum + entry.transferSize, 0));
      assert.ok(bytes > 0 && bytes < 100_000, `${bytes} bytes`);
      const shift = await page.evaluate(() => new Promise((resolve) => {
        let moved = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((entry) => (moved += entry.value))).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => resolve(moved), 500);
      }));
      assert.ok(shift < 0.02, `a shift of ${shift}`);
    }),
};

await run(scenarios);
