"""What Kueue says to writes: it completes some objects and refuses others, in the words of its webhooks."""
