"""Code generators, one folder a machine: each lowers scheduled Tile IR to an Artifact."""
