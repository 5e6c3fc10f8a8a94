//! Requests to the embedded server without a socket.

mod continue_token;
mod patch;
mod request;
mod world;

pub(crate) use self::continue_token::continue_token;
pub(crate) use self::patch::patch;
pub(crate) use self::request::request;
pub(crate) use self::world::{World, with};
