/// The state of a background task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskStatus {
    pub name: &'static str,
    pub state: TaskState,
    /// How often it stopped unexpectedly and was restarted.
    pub restarts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    Running,
    /// It stopped and waits for its restart.
    Restarting,
}
