//! What goes wrong around an explorer: nodes, disks, receivers and strangers. Nothing of it lasts.

mod strangers;
mod webhooks;
