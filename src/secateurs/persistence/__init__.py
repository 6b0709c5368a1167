"""Files of models: written whole, checked before anything in them is used."""
