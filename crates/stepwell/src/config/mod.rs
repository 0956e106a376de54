//! Settings: one table says what there is; flags, environment, file and defaults fill it in.
//!
//! A setting `tenant_cap` is the flag `--tenant-cap`, the variable `STEPWELL_TENANT_CAP` and the
//! key `tenant_cap` of `stepwell.toml`. The first that is given wins, in this order.

mod file;
mod flags;
mod place;
mod resolve;
mod table;

pub(crate) use flags::{AllFlags, ClientFlags, EVERYWHERE, EveryFlags, Given, ServeFlags};
pub(crate) use place::StorePlace;
pub(crate) use resolve::{Config, Surroundings, TOKEN_FILE};
