use axum::{Router, routing::MethodRouter};

use crate::state::App;

/// Routes with their patterns, by which metrics count requests: a [`Router`] does not expose them.
#[derive(Default)]
pub(crate) struct Routes {
    pub(crate) router: Router<App>,
    pub(crate) patterns: Vec<&'static str>,
}

impl Routes {
    pub(crate) fn route(mut self, pattern: &'static str, methods: MethodRouter<App>) -> Self {
        self.patterns.push(pattern);
        Self { router: self.router.route(pattern, methods), ..self }
    }
}
