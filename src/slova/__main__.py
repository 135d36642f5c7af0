"""`python -m slova` is the command `slova`."""

from slova.cli import main

main(prog_name="slova")
