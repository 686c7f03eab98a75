"""torch._library: signatures of operators, for ``torch.library`` and ``torch.ops``."""
