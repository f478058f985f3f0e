"""Pure decisions that the product and the embedded world take alike."""
