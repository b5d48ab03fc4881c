"""Gets an API key with eth-account, as documented.

    create_key.py <personal|bare> <base URL> <private key>

Prints the status and the body of the response as JSON.
"""

import json
import sys
import time
import urllib.error
import urllib.request

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_utils import keccak

kind, base, private_key = sys.argv[1:]
account = Account.from_key(private_key)
timestamp = int(time.time() * 1000)
text = f"Explorer API Key Request\nAddress: {account.address.lower()}\nTimestamp: {timestamp}"
if kind == "personal":
    signed = account.sign_message(encode_defunct(text=text))
else:
    signed = Account.unsafe_sign_hash(keccak(text=text), private_key)
signature = signed.signature.hex()

body = {"ownerAddress": account.address, "label": f"eth-account {kind}", "signature": signature, "timestamp": timestamp}
request = urllib.request.Request(
    f"{base}/api/v1/keys", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
)
try:
    with urllib.request.urlopen(request) as response:
        status, answer = response.status, json.load(response)
except urllib.error.HTTPError as error:
    status, answer = error.code, json.load(error)
print(json.dumps({"status": status, "owner": account.address.lower(), "signature": signature, "body": answer}))
