//! How it travels: buses, data sources, guarded calls to the outside.
