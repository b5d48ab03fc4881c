//! The service while the parts around it fail.

mod webhooks;
