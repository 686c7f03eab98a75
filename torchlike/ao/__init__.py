"""torch.ao: quantization."""
