"""torch.ao.nn.quantized: modules that compute with integers."""
