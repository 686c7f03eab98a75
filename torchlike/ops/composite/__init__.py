"""Names that follow from other operations: torch.special's, in-place functions, operations on lists of tensors."""
