"""torch.backends.cudnn: switches that scripts set. XLA chooses its own convolution algorithms."""

enabled = True
benchmark = False
deterministic = False
allow_tf32 = False


def is_available() -> bool:
    """Whether there is a GPU for cuDNN to run on."""
    from .._core.devices import devices_of

    return bool(devices_of("cuda"))


def version() -> int | None:
    """None: XLA brings its own."""
    return None
