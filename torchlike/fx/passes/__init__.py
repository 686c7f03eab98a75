"""torch.fx.passes: computations about graphs."""
