from slova.metrics.state import SAME, SUM, Mergeable

__all__ = ["SAME", "SUM", "Mergeable"]
