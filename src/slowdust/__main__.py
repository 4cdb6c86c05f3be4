"""`python -m slowdust`: the command line, for whoever has the interpreter and not the script."""

from slowdust.cli.main import main

main()
