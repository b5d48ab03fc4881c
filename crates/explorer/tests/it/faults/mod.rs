//! Faults of everything that the service stands on.

mod disk;
