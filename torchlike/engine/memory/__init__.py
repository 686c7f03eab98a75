"""What keeps the memory of runs small: the inputs that a run op by op writes over, and the blocks that a compiled program uses again."""
