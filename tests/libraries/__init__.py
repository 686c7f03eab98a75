"""Programs with libraries built on PyTorch, run with torchlike in its place."""
