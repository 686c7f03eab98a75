"""Mathematics on JAX arrays that gives PyTorch's numbers. It knows dtypes, but neither tensors nor operators."""
