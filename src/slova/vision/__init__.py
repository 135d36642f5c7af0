"""Images: degradations and outliers for training and calibration, and distance-aware calibration."""
