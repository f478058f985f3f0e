"""The command line: one file per command, each thin; nothing heavy is imported before a command needs it."""
