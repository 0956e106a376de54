//! Settings: one table says what there is; flags, environment, file and defaults fill it in.
//!
//! A setting `tenant_cap` is the flag `--tenant-cap`, the variable `STEPWELL_TENANT_CAP` and the
//! key `tenant_cap` of `stepwell.toml`. The first that is given wins, in this order.

mod credentials;
mod edit;
mod file;
mod flags;
mod place;
mod predecessor;
mod resolve;
mod table;

pub(crate) use credentials::Credentials;
pub(crate) use edit::set;
pub(crate) use flags::{
    AllFlags, ClientFlags, EVERYWHERE, EveryFlags, Given, LoginFlags, ServeFlags,
};
pub(crate) use place::StorePlace;
pub(crate) use resolve::{Config, Surroundings, TOKEN_FILE};
pub(crate) use table::{SETTINGS, Setting};
