"""Parts for other packages, which a crawl without them never imports."""
