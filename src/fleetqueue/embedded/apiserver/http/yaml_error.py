"""What reading YAML can raise, for those who read some only when it comes."""


class YamlError(Exception):
    """A text that is no document; the words are those of Go's parser."""
