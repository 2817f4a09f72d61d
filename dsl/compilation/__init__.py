"""From a checked kernel to a specialisation: elaborated, built, cached."""
