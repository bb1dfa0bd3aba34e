"""Where the pages of all sites are kept: one contract, one file per database."""
