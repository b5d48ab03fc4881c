//! Whatever is sent, the answer is an envelope with the status 0 and a reason.

use serde_json::json;

use super::{ask, post_form};
use crate::support::Fixture;

#[tokio::test]
async fn bad_input_gets_an_envelope_with_a_reason() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    let address = format!("0x{}", "11".repeat(20));
    let long = "topic0=0x11&".repeat(600);
    let queries = [
        String::new(),
        "module=nonsense&action=balance".to_owned(),
        "module=account".to_owned(),
        "module=account&action=nonsense".to_owned(),
        "module=account&action=balance".to_owned(),
        "module=account&action=balance&address=0x12".to_owned(),
        "module=account&action=balance&address=%ff".to_owned(),
        format!("module=account&action=balance&address={address}&tag=nonsense"),
        format!("module=account&action=balance&address={address}&chainid=1"),
        format!("module=account&action=balance&address={address}&chainid=x"),
        format!("module=account&action=balancemulti&address={}", [address.as_str(); 21].join(",")),
        format!("module=account&action=txlist&address={address}&page=-1"),
        format!("module=account&action=txlist&address={address}&offset=10001"),
        format!("module=account&action=txlist&address={address}&sort=sideways"),
        format!("module=account&action=txlist&address={address}&startblock=x"),
        "module=account&action=tokentx".to_owned(),
        "module=account&action=txlistinternal&txhash=0x1".to_owned(),
        "module=logs&action=getLogs".to_owned(),
        format!("module=logs&action=getLogs&address={address}&topic0=0x1"),
        format!("module=logs&action=getLogs&address={address}&{long}"),
        "module=block&action=getblocknobytime".to_owned(),
        "module=block&action=getblocknobytime&timestamp=1&closest=beside".to_owned(),
        "module=block&action=getblockreward&blockno=99999999".to_owned(),
        "module=transaction&action=getstatus".to_owned(),
        "module=transaction&action=getstatus&txhash=0x".to_owned(),
        "module=stats&action=ethprice".to_owned(),
        "module=stats&action=ethsupply".to_owned(),
        format!("module=stats&action=tokensupply&contractaddress={address}"),
        format!("module=token&action=tokeninfo&contractaddress={address}"),
        "module=gastracker&action=gasestimate&gasprice=x".to_owned(),
        "module=proxy&action=eth_sendTransaction".to_owned(),
        "module=proxy&action=eth_call&data=0xzz".to_owned(),
        "module=proxy&action=eth_getCode&address=0x1".to_owned(),
        "module=contract&action=getcontractcreation&contractaddresses=,".to_owned(),
        "module=contract&action=verifysourcecode".to_owned(),
        "module=contract&action=checkverifystatus".to_owned(),
        "module=contract&action=checkproxyverification&guid=zz".to_owned(),
    ];
    for query in queries {
        let answer = ask(client, &query).await;
        assert_eq!(answer["status"], "0", "{query}: {answer}");
        assert!(answer["result"].is_string() || answer["result"].is_null(), "{query}: {answer}");
        assert_ne!(answer["message"], "OK", "{query}: {answer}");
    }
    for path in ["/api", "/api/", "/v2/api", "/v2/api/"] {
        let other = client.send(client.request("DELETE", path)).await;
        assert_eq!((other.status, &other.json["status"]), (200, &json!("0")), "{path}: {}", other.text);
    }
}

#[tokio::test]
async fn bad_forms_get_an_envelope_with_a_reason() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    let send = async |kind: &str, body: Vec<u8>| {
        let request = client.request("POST", "/api?module=contract&action=verifysourcecode");
        let answer = client.send(request.header("Content-Type", kind).body(body)).await;
        assert_eq!((answer.status, &answer.json["status"]), (200, &json!("0")), "{kind}: {}", answer.text);
        answer.json["result"].as_str().unwrap().to_owned()
    };
    let form = "application/x-www-form-urlencoded";
    let nine_megabytes = [b"sourceCode=".to_vec(), vec![b'a'; 9 << 20]].concat();
    assert!(send(form, nine_megabytes).await.contains("longer than 8388608 bytes"));
    let million: String = (0..1_000_000).map(|number| format!("topic{number}=1&")).collect();
    assert!(send(form, million.as_bytes()[..7 << 20].to_vec()).await.contains("More than 64 parameters"));
    assert!(send(form, b"contractaddress=1&contractaddress=2".to_vec()).await.contains("more than once"));
    assert!(send("multipart/form-data; boundary=x", b"--x\r\nbroken".to_vec()).await.contains("multipart"));
    assert!(send("multipart/form-data", b"--x--".to_vec()).await.contains("multipart"));
    assert!(send("application/json", b"{}".to_vec()).await.contains("Missing"));

    let address = format!("0x{}", "11".repeat(20));
    let fields = |name: &'static str, value: &'static str| {
        let mut fields = vec![
            ("module", "contract"),
            ("action", "verifysourcecode"),
            ("contractaddress", address.as_str()),
            ("sourceCode", "contract A {}"),
            ("compilerversion", "v0.8.20+commit.a1b79de6"),
        ];
        fields.retain(|(field, _)| *field != name);
        fields.push((name, value));
        fields
    };
    for (name, value) in [
        ("contractaddress", "0x1"),
        ("sourceCode", ""),
        ("sourceCode", "{ broken"),
        ("compilerversion", "latest"),
        ("compilerversion", "vyper:0.4.0"),
        ("codeformat", "vyper-json"),
        ("constructorArguements", "0x1"),
        ("optimizationUsed", "yes"),
        ("runs", "-1"),
        ("evmversion", "nonsense"),
        ("libraryname1", "L"),
    ] {
        let answer = post_form(client, "/api", &fields(name, value)).await;
        assert_eq!(answer["status"], "0", "{name}={value}: {answer}");
        assert!(answer["result"].is_string(), "{name}={value}: {answer}");
    }
}
