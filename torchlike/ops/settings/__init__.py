"""Settings of the library, and checks that a program makes."""
