"""torch.backends.xnnpack: a library for telephones that is not used here."""

__all__: list[str] = []

enabled = False
