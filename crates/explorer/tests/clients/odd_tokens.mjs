// Reads amounts and names of odd tokens, in a real browser.
//
//   node odd_tokens.mjs <base URL> <token with a supply of 2^256 - 1 and a name with stacked marks> <hash of its mint>
//
// Prints the names of the passed scenarios as JSON; the first failure ends the run with its reason.
import assert from "node:assert/strict";
import { pagesOf, run } from "./browser.mjs";

const [base, token, mint] = process.argv.slice(2);
const { open, fitsPhones, isAccessible, validates } = pagesOf(base);
const largest = (2n ** 256n - 1n).toString();
const phone = { viewport: { width: 390, height: 844 } };
const pages = ["/tokens", "/transfers", `/token/${token}`, `/token/${token}?tab=holders`, `/tx/${mint}`, "/transactions"];
const amount = (page) => page.locator(".more", { hasText: "1.15e77" }).first();

/// How many pixels of two PNG pictures clearly differ. A repaint may smooth letters differently, which is not counted.
async function differentPixels(first, second) {
  let different;
  await open("/", {}, async (page) => {
    different = await page.evaluate(async (pictures) => {
      const [one, other] = await Promise.all(pictures.map(async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
        context.drawImage(bitmap, 0, 0);
        return context.getImageData(0, 0, bitmap.width, bitmap.height);
      }));
      if (one.width !== other.width || one.height !== other.height) return Infinity;
      let count = 0;
      for (let pixel = 0; pixel < one.data.length; pixel += 4) {
        if ([0, 1, 2].some((channel) => Math.abs(one.data[pixel + channel] - other.data[pixel + channel]) > 64)) count += 1;
      }
      return count;
    }, [first, second]);
  });
  return different;
}

const scenarios = {
  "an amount of 78 digits is short, and all its digits are shown on focus": async () => {
    for (const path of ["/tokens", "/transfers", `/token/${token}`, `/token/${token}?tab=holders`]) {
      await open(path, {}, async (page) => {
        const exact = amount(page).locator(".exact");
        assert.equal(await exact.isVisible(), false, path);
        await amount(page).focus();
        assert.equal(await exact.isVisible(), true, path);
        assert.ok((await exact.textContent()).includes(largest), path);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.equal(width, 1280, path);
      });
    }
  },

  "all its digits are shown on a tap, without a script too": async () => {
    for (const javaScriptEnabled of [true, false]) {
      await open("/tokens", { ...phone, isMobile: true, hasTouch: true, javaScriptEnabled }, async (page) => {
        await amount(page).tap();
        const box = await amount(page).locator(".exact").boundingBox();
        assert.ok(box.width > 0 && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
      });
    }
  },

  "a table is not wider than the screen because of a long amount": () =>
    open("/transfers", {}, async (page) => {
      const [inner, outer] = await page.locator(".scroll").evaluate((box) => [box.scrollWidth, box.clientWidth]);
      assert.ok(inner <= outer, `${inner} > ${outer}`);
    }),

  "the exact fee is readable without a mouse": () =>
    open(`/tx/${mint}`, {}, async (page) => {
      const { transactions } = await (await fetch(`${base}/api/v1/transactions?address=${token}`)).json();
      const { gasUsed, gasPrice } = transactions.find(({ hash }) => hash === mint);
      const fee = (BigInt(gasUsed) * BigInt(gasPrice)).toString();
      const amount = page.locator("dt:has-text('Fee') + dd").first();
      await amount.locator(".more").focus({ timeout: 1000 }).catch(() => {});
      const shown = await amount.innerText();
      const digits = fee.padStart(19, "0");
      const exact = `${BigInt(digits.slice(0, -18))}.${digits.slice(-18).replace(/0+$/, "")}`;
      assert.ok(shown.includes(exact), `${exact} in ${shown}`);
      // The short form differs from the exact one by less than a thousandth.
      const short = Number(shown.match(/^[\d.e-]+/)[0]);
      assert.ok(Math.abs(short / Number(exact) - 1) < 0.001, `${short} and ${exact}`);
    }),

  // Without scripts, so that no live update comes between two pictures.
  "stacked marks of a name do not cover other rows": () =>
    open("/tokens", { javaScriptEnabled: false }, async (page) => {
      const row = page.locator("#list tbody tr", { has: page.locator(`a[href='/token/${token}']`) });
      const neighbours = () => row.evaluate((element) =>
        [element.previousElementSibling, element.nextElementSibling, document.querySelector("#list thead")].filter(Boolean).map((other) => {
          const { x, y, width, height } = other.getBoundingClientRect();
          return { x, y, width, height };
        }));
      const pictures = async () => {
        const taken = [];
        for (const clip of await neighbours()) taken.push((await page.screenshot({ clip })).toString("base64"));
        return taken;
      };
      await page.mouse.move(2, 2);
      const before = await pictures();
      assert.ok(before.length >= 2, "there are other rows");
      const marks = await row.evaluate((element) => (element.textContent.match(/\p{M}/gu) ?? []).length);
      assert.ok(marks > 10, `${marks} marks`);
      await row.evaluate((element) => {
        for (const name of element.querySelectorAll("bdi")) name.textContent = name.textContent.replace(/\p{M}/gu, "");
      });
      const after = await pictures();
      assert.equal(after.length, before.length);
      for (const [at, picture] of after.entries()) {
        const different = await differentPixels(before[at], picture);
        assert.ok(different < 10, `${different} pixels differ in row ${at}`);
      }
    }),

  "these pages fit a phone": () => fitsPhones(pages),

  "these pages are accessible": () => isAccessible(pages),

  "these pages are valid HTML": () => validates(pages),
};

await run(scenarios);
