"""Values and state: dtypes, devices, storage, views, the class Tensor, printing, random streams."""
