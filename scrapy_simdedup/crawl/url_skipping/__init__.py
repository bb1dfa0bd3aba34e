"""URL skipping: requests whose URLs lead to known content are not made, and readmitted when their rule falls."""
