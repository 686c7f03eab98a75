"""Reading and writing by index, mask and position, and copies with the elements rearranged."""
