"""Pure decisions that several parts take alike: the product and the embedded world, or two of its systems."""
