/// How a long task that nobody waits for is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskStatus {
    pub name: &'static str,
    pub state: TaskState,
    /// How often it ended unasked and was started again.
    pub restarts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    Running,
    /// It ended, and waits to be started again.
    Restarting,
}
