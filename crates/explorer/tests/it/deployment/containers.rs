//! The image and the compose files, as far as they can be tested without a Docker daemon: no image is built.

use std::process::Command;

use serde_json::Value;

use super::{DEPLOY, deployed_file};
use crate::support::{
    DevNode, Launch,
    missing::{Facility, left_out},
    process::mount_namespace_arguments,
    wallet_clients::installed_clients,
};

/// The arguments of the last instruction with this name, as in `CMD ["a", "b"]`.
fn arguments(instruction: &str) -> Vec<String> {
    let text = deployed_file("Dockerfile").replace("\\\n", " ");
    let line = text.lines().rfind(|line| line.starts_with(instruction)).unwrap_or_else(|| panic!("{instruction}"));
    let (_, list) = line.split_once('[').unwrap_or_else(|| panic!("{line} is not in exec form"));
    serde_json::from_str(&format!("[{list}")).unwrap()
}

#[tokio::test]
async fn the_health_check_of_the_image_finds_a_process_that_serves() {
    assert_eq!((arguments("ENTRYPOINT"), arguments("CMD")), (vec!["explorer".to_owned()], vec!["run".to_owned()]));
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).start().await;
    let check = arguments("HEALTHCHECK");
    let listen = explorer.client().host().to_owned();
    let is_healthy = || {
        let status = Command::new(&check[0]).args(&check[1..]).env("EXPLORER_LISTEN", &listen).status();
        status.unwrap().code().unwrap()
    };
    assert_eq!(is_healthy(), 0);
    explorer.kill();
    assert_eq!(is_healthy(), 1);
}

#[test]
fn the_image_does_not_run_as_root_and_keeps_its_data_in_a_volume() {
    let text = deployed_file("Dockerfile");
    let last_stage = &text[text.rfind("\nFROM").unwrap()..];
    for line in ["USER 10001:10001", "VOLUME /var/lib/explorer", "STOPSIGNAL SIGTERM"] {
        assert!(last_stage.contains(&format!("\n{line}\n")), "{line}");
    }
    let user = last_stage.find("USER").unwrap();
    assert!(last_stage.rfind("RUN").unwrap() < user, "what needs root comes before");
    assert!(
        text.lines().filter(|line| line.starts_with("FROM")).all(|line| line.contains(':')),
        "images have versions"
    );
}

#[tokio::test]
async fn the_process_writes_only_its_data_folder() {
    let Some(unshare) = mount_namespace_arguments() else {
        return left_out(Facility::Namespaces);
    };
    let (node, _traffic) = DevNode::with_traffic(20).await;
    // Everything is read-only for this process but the data folder, as with `read_only: true`.
    let script = "mount --bind \"$EXPLORER_DATA\" \"$EXPLORER_DATA\" && mount -o remount,bind,ro / || exit 9; \
                  ! touch /read-only-root 2>/dev/null || exit 9";
    let explorer = Launch::run(&node.url()).after_script(unshare, script).start().await;
    node.wait_for(&explorer).await;
    assert_eq!(explorer.get("/").await.status, 200);
    let (ended, _) = explorer.stop().await;
    assert!(ended.status.success(), "{ended:?}");
}

fn compose(name: &str) -> Value {
    let file = format!("{DEPLOY}/{name}");
    let program = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
    let output =
        Command::new(installed_clients().join("python/bin/python")).args(["-c", program, &file]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn compose_files_name_files_that_exist_and_check_only_processes_that_listen() {
    for (name, services) in [("compose.yaml", 1), ("compose-several.yaml", 8)] {
        let document = compose(name);
        let all = document["services"].as_object().unwrap();
        assert_eq!(all.len(), services, "{name}");
        for (service, settings) in all {
            for volume in settings["volumes"].as_array().into_iter().flatten() {
                let source = volume.as_str().unwrap().split(':').next().unwrap();
                let exists = match source.strip_prefix("./") {
                    Some(file) => std::path::Path::new(DEPLOY).join(file).exists(),
                    None => document["volumes"].get(source).is_some(),
                };
                assert!(exists, "{name}: {service} uses {source}");
            }
            if settings["image"] == "explorer" {
                assert_eq!(settings["build"]["dockerfile"], "deploy/Dockerfile");
                assert!(settings["read_only"] == true && settings["cap_drop"][0] == "ALL", "{name}: {service}");
                let command = settings["command"].to_string();
                let listens = !command.contains("index") && !command.contains("deliver");
                assert_eq!(settings["healthcheck"]["disable"] == true, !listens, "{name}: {service}");
            }
        }
    }
}

#[test]
fn docker_accepts_the_compose_files() {
    let compose = |arguments: &[&str]| Command::new("docker").arg("compose").args(arguments).output();
    if !compose(&["version"]).is_ok_and(|output| output.status.success()) {
        return left_out(Facility::Docker);
    }
    for name in ["compose.yaml", "compose-several.yaml"] {
        let file = format!("{DEPLOY}/{name}");
        let mut command = Command::new("docker");
        command.args(["compose", "--file", &file, "config", "--quiet"]);
        for variable in ["EXPLORER_RPC", "POSTGRES_PASSWORD", "EXPLORER_WEBHOOK_ENCRYPTION_KEY"] {
            command.env(variable, "x");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
    }
}
