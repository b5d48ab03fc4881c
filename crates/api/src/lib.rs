//! The public REST API under /api/v1.
