"""The mechanism of operators: from a declaration to public functions, and from a call to a recorded kernel."""
