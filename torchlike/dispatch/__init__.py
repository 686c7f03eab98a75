"""How operators work: this package makes public functions from declarations, and recorded kernels from calls."""
