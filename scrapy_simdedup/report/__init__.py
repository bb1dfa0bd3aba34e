"""What a store, a crawl and two pages look like to people: comparisons, the report and its data."""
