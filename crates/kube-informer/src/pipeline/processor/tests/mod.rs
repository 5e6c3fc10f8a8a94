//! What one handler is told, without any task or clock.

mod history;
mod turns;
mod waking;
