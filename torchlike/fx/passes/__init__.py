"""torch.fx.passes: what is computed about graphs."""
