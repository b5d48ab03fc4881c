//! What a store must do, and the suite that proves that one does.
