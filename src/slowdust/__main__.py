"""`python -m slowdust`: the command line without the installed script."""

from slowdust.cli.main import main

main()
