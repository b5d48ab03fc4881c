//! What goes wrong outside, made to happen on purpose.

mod lying_node;
