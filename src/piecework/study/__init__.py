"""What a study is: its recipe, the schema and the file, and the subsets of the corpus that it names."""
