"""How the namespace ``torch`` is put together: the order of imports, Tensor's methods, and names of ``torch`` that have no other module."""
