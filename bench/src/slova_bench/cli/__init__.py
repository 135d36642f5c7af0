"""The commands that the comparison adds: `slova bench …`."""
