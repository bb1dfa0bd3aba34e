"""What a site has already, and what that means for a page."""
