/// What a test needs of the system and `./test` cannot install.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Facility {
    /// Mounting file systems.
    Mounts,
    /// Mounting file systems in a namespace of its own.
    Namespaces,
    /// The command `docker compose`.
    Docker,
    /// Patroni and etcd, which only some systems have as packages.
    Patroni,
}

impl Facility {
    fn name(self) -> &'static str {
        match self {
            Self::Mounts => "mounts",
            Self::Namespaces => "namespaces",
            Self::Docker => "docker",
            Self::Patroni => "patroni",
        }
    }
}

const VARIABLE: &str = "EXPLORER_TESTS_WITHOUT";

/// For a test that cannot run here: fails, unless the environment says that tests of this kind are left out. `./test` says
/// so, there and in its last line.
pub(crate) fn left_out(facility: Facility) {
    let (name, without) = (facility.name(), std::env::var(VARIABLE).unwrap_or_default());
    assert!(
        without.split_whitespace().any(|left_out| left_out == name),
        "this test needs {name}, which this system does not have or permit: to leave out such tests, set {VARIABLE}={name}"
    );
    println!("left out: there are no {name} here");
}
