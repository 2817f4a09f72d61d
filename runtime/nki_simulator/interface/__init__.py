"""What AWS publishes of nki 0.6 as tables, each row with where it stands: calls, operators."""
