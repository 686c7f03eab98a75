"""torch.nested._internal: where libraries look for jagged tensors."""
