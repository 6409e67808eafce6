"""The command line: one short function a command, over the use cases of execution."""
