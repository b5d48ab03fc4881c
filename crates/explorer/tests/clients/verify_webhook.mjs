// Verifies deliveries with libraries, as documented for receivers.
//
//   node verify_webhook.mjs <file of deliveries>
//
// The file has a JSON list of { secret, body, headers }. Prints for each whether the two libraries accept it, and whether
// they accept it with a changed body.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// ./test installs the libraries into this folder.
const require = createRequire(join(process.env.EXPLORER_TEST_CLIENTS, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { verify } = await import(
  pathToFileURL(join(process.env.EXPLORER_TEST_CLIENTS, "node_modules/@octokit/webhooks-methods/dist-node/index.js"))
);
const { Webhook } = await load("standardwebhooks");

function standard(secret, body, headers) {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

const results = [];
for (const { secret, body, headers } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const forged = body.replace("value", "valve").replace("webhookId", "webhookIx");
  results.push({
    octokit: await verify(secret, body, headers["x-explorer-signature"]),
    standard: standard(secret, body, headers),
    octokitForged: await verify(secret, forged, headers["x-explorer-signature"]),
    standardForged: standard(secret, forged, headers),
  });
}
console.log(JSON.stringify(results));
