"""Give what tests tell to the add-ons' own programs of upstream, to see whether their records are current."""
