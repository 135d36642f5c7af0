"""The comparison: data, shifts, networks, methods and experiments. It needs the [bench] extra."""
