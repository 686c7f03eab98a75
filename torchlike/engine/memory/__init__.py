"""What keeps the memory of runs small: inputs that a run op by op writes over, blocks that a program uses again, and copies to devices."""
