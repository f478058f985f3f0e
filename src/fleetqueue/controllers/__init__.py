"""One room per system; inside, one file per thing that is kept right."""
