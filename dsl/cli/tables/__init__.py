"""What commands print in tables."""
