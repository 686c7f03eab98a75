"""torch.backends.quantized: engines that multiply quantised integers. All names stand for one arithmetic, FBGEMM's without overflow."""

engine = "x86"
supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
