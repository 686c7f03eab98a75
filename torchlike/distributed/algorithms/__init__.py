"""torch.distributed.algorithms: what libraries take from it needs one process alone."""
