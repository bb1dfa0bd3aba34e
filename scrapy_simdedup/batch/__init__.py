"""Taking the repeats out of what is there already: things in memory, feeds, and archives of any size."""
