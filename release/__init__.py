"""What a release needs: tried wheels, a list of parts, lower bounds that hold; CHECKLIST.md says how to publish."""
