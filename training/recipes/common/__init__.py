"""What the recipes share. Each recipe's folder links to it: copy one with `cp -rL`."""
