"""From a request to its response: authentication, authorization, the verb, and the form of the response."""
