"""PyTorch's own tests, run by torchlike: `make torch-tests`. Nothing of PyTorch's is kept here."""
