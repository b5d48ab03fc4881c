//! The operator's look of the pages: logo, colours and links.

use std::{fs, path::PathBuf};

use alloy_primitives::hex;
use tempfile::TempDir;

use crate::support::{DevNode, Launch};

const SVG: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><style>path{fill:#8a1c7c}</style><path d="M0 0h4v4z"/></svg>"##;
/// One pixel.
const PNG: [u8; 67] = hex!(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c63000100000500010d0a2db40000000049454e44ae426082"
);

fn file(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

/// The path of an asset whose name begins like this.
fn asset<'a>(page: &'a str, name: &str) -> &'a str {
    let start = format!("/assets/{name}-");
    page.split('"').find(|part| part.contains(&start)).unwrap_or_else(|| panic!("no {name} in {page}"))
}

#[tokio::test]
async fn logo_colours_and_links_are_on_every_page_and_weaken_no_policy() {
    let node = DevNode::start().await;
    node.chain.mine(None);
    let folder = tempfile::tempdir().unwrap();
    let logo = file(&folder, "logo.svg", SVG);
    let looks = format!(
        "[looks]\nchain-name = 'House chain'\ncoin = 'HSE'\nlogo = '{}'\naccent-light = '#8a1c7c'\naccent-dark = '#f0b90b'\n\
         [[looks.footer-link]]\nlabel = 'Terms & <b>'\nurl = 'https://house.example/terms?a=1&b=\"2\"'\n\
         [[looks.footer-link]]\nlabel = 'Newest'\nurl = '/blocks'\n",
        logo.display()
    );
    let explorer = Launch::run(&node.url()).configured(&looks).start().await;
    node.wait_for(&explorer).await;
    let client = explorer.client();

    for path in ["/", "/block/1", "/tokens", "/nothing"] {
        let answer = client.get(path).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("style-src 'self'") && !policy.contains("unsafe"), "{policy}");
        let page = answer.text;
        assert!(!page.contains("<style") && !page.contains(" style="), "{page}");
        let (own, changed) = (page.find("/assets/style-").unwrap(), page.find("/assets/branding-").unwrap());
        assert!(own < changed, "the operator's style sheet comes last: {page}");
        let logo = asset(&page, "logo");
        assert!(page.contains(&format!("<img src=\"{logo}\" alt=\"\">")), "{page}");
        assert!(page.contains(&format!("<link rel=\"icon\" href=\"{logo}\" type=\"image/svg+xml\">")), "{page}");
        // Previews of links cannot show it, and there is no public URL.
        assert!(!page.contains("og:image"), "{page}");
        let external =
            "<a href=\"https://house.example/terms?a=1&#38;b=%222%22\" rel=\"noopener\">Terms &#38; &#60;b&#62;</a>";
        assert!(page.contains(external) && page.contains("<a href=\"/blocks\">Newest</a>"), "{page}");
        assert!(page.contains("House chain"), "{page}");
    }
    let account = client.get(&format!("/address/{}", node.account(0))).await.text;
    assert!(account.contains(" HSE") && !account.contains(" ETH"), "{account}");

    let page = client.get("/").await.text;
    let style = client.get(asset(&page, "branding")).await;
    assert_eq!((style.status, style.header("content-type")), (200, "text/css; charset=utf-8"));
    assert!(style.header("cache-control").contains("immutable"));
    assert!(style.text.contains("--accent: light-dark(#8a1c7c, #f0b90b);"), "{}", style.text);
    assert!(style.text.contains("--accent-soft: light-dark("), "{}", style.text);

    for path in [asset(&page, "logo"), "/favicon.ico", "/favicon.svg"] {
        let logo = client.get(path).await;
        assert_eq!((logo.status, logo.text.as_str()), (200, SVG), "{path}");
        assert_eq!(logo.header("content-type"), "image/svg+xml", "{path}");
        assert_eq!(logo.header("x-content-type-options"), "nosniff", "{path}");
        let policy = logo.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none';") && policy.ends_with("sandbox"), "{path}: {policy}");
        assert!(!policy.contains("script-src"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn a_raster_logo_is_the_icon_and_the_preview_of_links_below_a_base_path() {
    let node = DevNode::start().await;
    let folder = tempfile::tempdir().unwrap();
    // The content tells the format, not the name.
    let logo = file(&folder, "logo.svg", PNG);
    let explorer = Launch::run(&node.url())
        .configured(&format!("[looks]\nlogo = '{}'", logo.display()))
        .argument("--public-url", "https://explorer.example/dev")
        .start()
        .await;
    let page = explorer.get("/dev/").await.text;
    let path = asset(&page, "logo").trim_start_matches("https://explorer.example");
    assert!(path.starts_with("/dev/assets/logo-") && path.ends_with(".png"), "{path}");
    assert!(
        page.contains(&format!("<meta property=\"og:image\" content=\"https://explorer.example{path}\">")),
        "{page}"
    );
    assert!(page.contains(&format!("<link rel=\"icon\" href=\"{path}\" type=\"image/png\">")), "{page}");
    assert!(page.contains(&format!("<img src=\"{path}\"")), "{page}");
    let answer = explorer.get(path).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "image/png"));
    assert!(!page.contains("/assets/branding-"), "colours are the default: {page}");
}

async fn refused(launch: Launch, expected: &[&str]) {
    let (ended, message) = launch.fails_to_start().await;
    assert_eq!(ended.code(), Some(1), "{message}");
    for text in expected {
        assert!(message.contains(text), "{text} is not in: {message}");
    }
}

#[tokio::test]
async fn bad_values_are_refused_at_the_start_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let with = |looks: &str| Launch::run("http://127.0.0.1:1").configured(&format!("[looks]\n{looks}"));
    let with_logo = |name: &str, content: &[u8]| with(&format!("logo = '{}'", file(&folder, name, content).display()));

    refused(with("logo = '/no/such/logo.svg'"), &["cannot read the logo /no/such/logo.svg"]).await;
    refused(with_logo("a.gif", b"GIF89a"), &["the logo", "a.gif", "not an SVG, PNG or WebP image", "convert"]).await;
    refused(with_logo("cut.png", &PNG[..60]), &["cut.png", "is not complete"]).await;
    refused(with_logo("large.svg", &[b' '; 300_000]), &["large.svg", "300000 bytes", "make it smaller"]).await;
    let script = SVG.replace("<path", "<script/><path");
    refused(with_logo("script.svg", script.as_bytes()), &["script.svg", "has a script"]).await;

    refused(with("accent-light = 'red'"), &["config.toml", "`red` is not a colour such as #0b6b63"]).await;
    let pale = ["#f0b90b of accent-light in [looks]", "1.67:1", "at least 4.5:1", "choose a darker colour"];
    refused(with("accent-light = '#f0b90b'"), &pale).await;
    refused(with("accent-dark = '#123'"), &["accent-dark", "choose a lighter colour"]).await;
    refused(with("accent-dark = 'url(x)'"), &["config.toml", "is not a colour"]).await;

    let link = |entry: &str| with(&format!("[[looks.footer-link]]\n{entry}"));
    let script = link("label = 'Terms'\nurl = 'javascript:alert(1)'");
    refused(script, &["[[looks.footer-link]]", "`Terms`", "https:// URL"]).await;
    refused(link("label = ''\nurl = '/'"), &["[[looks.footer-link]]", "1 to 40"]).await;
    refused(with(&"[[looks.footer-link]]\nlabel = 'a'\nurl = '/'\n".repeat(11)), &["at most 10"]).await;
    refused(link("label = 'a'\nhref = '/'"), &["href", "url"]).await;
}
