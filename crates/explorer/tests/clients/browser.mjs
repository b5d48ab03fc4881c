// A real browser, and checks for every page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const require = createRequire(join(process.env.EXPLORER_TEST_CLIENTS, "package.json"));
export const load = (name) => import(pathToFileURL(require.resolve(name)));

const { chromium } = require("playwright-core");
const { HtmlValidate } = require("html-validate");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
/// A name of this machine that browsers do not trust like localhost: pages over plain http have no clipboard there.
export const LAN_HOST = "explorer.lan";
/// Milliseconds for what has to happen in the end, on a busy machine too. How fast it is, other tests say.
const PATIENCE = 240_000;
const browser = await chromium.launch({ timeout: PATIENCE, executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium", args: ["--no-sandbox", `--host-resolver-rules=MAP ${LAN_HOST} 127.0.0.1`] });

/// Helpers for the pages of one explorer.
export function pagesOf(base) {
  /// Opens a page, and fails on errors in the browser console except for expected ones.
  async function open(path, { expectedError, times = 1, ...options } = {}, work) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    try {
      await page.goto(base + path);
      await work(page, context);
      const expected = expectedError ? Array.from({ length: times }, () => errors.shift() ?? "nothing") : [];
      for (const text of expected) assert.match(text, expectedError, `errors on ${path}`);
      assert.deepEqual(errors, [], `errors on ${path}`);
    } finally {
      await context.close();
    }
  }

  async function fitsPhones(paths) {
    for (const path of paths) {
      await open(path, { viewport: { width: 390, height: 844 } }, async (page) => {
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, path);
      });
    }
  }

  async function isAccessible(paths) {
    for (const colorScheme of ["light", "dark"]) {
      for (const path of paths) {
        // The checker is a foreign script, which the content security policy would block.
        await open(path, { colorScheme, bypassCSP: true }, async (page) => {
          await page.evaluate(axe);
          // Targets of at least 24 pixels are not among the default rules. Only colours differ between the schemes.
          const options = colorScheme === "light" ? { rules: { "target-size": { enabled: true } } } : { runOnly: ["color-contrast"] };
          const { violations } = await page.evaluate((options) => globalThis.axe.run(options), options);
          assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html]), [], `${path} in ${colorScheme}`);
        });
      }
    }
  }

  async function validates(paths) {
    const validator = new HtmlValidate({ extends: ["html-validate:standard"] });
    for (const path of paths) {
      const report = await validator.validateString(await (await fetch(base + path)).text());
      const faults = report.results.flatMap(({ messages }) => messages.map(({ ruleId, message, line, column }) => `${ruleId} ${line}:${column} ${message}`));
      assert.deepEqual(faults, [], path);
    }
  }

  return { open, fitsPhones, isAccessible, validates };
}

/// Runs scenarios in order and prints the names of those that passed; the first failure ends the run.
export async function run(scenarios) {
  const passed = [];
  try {
    for (const [name, scenario] of Object.entries(scenarios)) {
      try {
        await scenario();
      } catch (error) {
        error.message = `${name}: ${error.message}`;
        throw error;
      }
      passed.push(name);
    }
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(passed));
}
