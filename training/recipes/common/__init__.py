"""Code that all recipes share. Each recipe's folder links here: copy a recipe with `cp -rL`."""
