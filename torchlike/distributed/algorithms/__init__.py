"""torch.distributed.algorithms: the parts that libraries use within one process."""
