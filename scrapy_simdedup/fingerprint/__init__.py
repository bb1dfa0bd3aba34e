"""Page → PageFingerprint: a few hundred bytes that tell how much of two pages is the same. Pure."""
