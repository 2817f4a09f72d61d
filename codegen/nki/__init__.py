"""AWS Trainium: scheduled Tile IR as nki 0.6 source, at the level of `nki.isa`."""
