"""How a process that uses XLA forks, and how it ends."""
