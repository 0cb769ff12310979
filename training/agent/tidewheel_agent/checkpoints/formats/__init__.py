"""Single files: which format, whether they are whole, and the step that they hold."""
