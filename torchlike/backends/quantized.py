"""torch.backends.quantized: engines that multiply quantised integers. torchlike has none."""

engine = "none"
supported_engines = ["none"]
