"""From a request to an answer: what is asked, who may, which verb, in which form it goes back."""
