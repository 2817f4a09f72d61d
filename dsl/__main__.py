"""`python -m dslc`: the command line without its script."""

from dslc.cli.main import main

if __name__ == "__main__":
    main()
