"""A package, so that Ray and Spark stop after its tests: idle, they would cost a tenth of a core until the end."""
