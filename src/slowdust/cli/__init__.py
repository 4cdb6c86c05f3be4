"""The command line: commands and options as data, and a module for each family of commands."""
