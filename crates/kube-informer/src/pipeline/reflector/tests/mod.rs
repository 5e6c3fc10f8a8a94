//! The reflector proved: first its decisions, told as tables without a clock or a socket, then its deeds, against a
//! scripted source in paused time.

mod causes;
mod driver;
mod informer;
mod lists;
mod neighbours;
mod polite;
mod scripted;
mod served;
mod streams;
mod table;
mod watches;
