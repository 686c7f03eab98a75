"""PyTorch's CPU random generators on NumPy, bit for bit: the raw words, and the samples that are made of them."""
