"""The shop that the example crawls: Harbour Street Stores, a shop with a magazine, served on loopback."""
