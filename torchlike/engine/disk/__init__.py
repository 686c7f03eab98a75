"""What is kept on disk for the next process: compiled programs, notes of what ran as programs, and traces."""
