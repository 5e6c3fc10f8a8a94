//! Tests of the reflector: its decisions as tables without a clock or a socket, and its requests against a
//! scripted source in paused time.

mod causes;
mod driver;
mod informer;
mod interactions;
mod lists;
mod request_rate;
mod scripted;
mod served;
mod streams;
mod table;
mod watches;
